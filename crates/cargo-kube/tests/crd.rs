//! `cargo kube crd` as it is called: what it prints, and its exit codes.

use std::path::Path;
use std::process::{Command, Output};

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube_client::api::{Patch, PatchParams};
use kube_client::{Api, Client};
use kube_testserver::TestServer;
use serde_json::{Value, json};

fn cargo_kube(directory: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-kube"));
    command.args(["kube", "crd"]).args(arguments).current_dir(directory);
    command.env("KUBECONFIG", directory.join("kubeconfig")).output().expect("the program runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// With these versions of a schema: `limits[n]` is the maximum of `spec.size`; the last is the storage version.
fn definition(limits: &[(&str, u32)]) -> Value {
    let version = |(name, limit): &(&str, u32)| {
        let spec =
            json!({ "type": "object", "properties": { "size": { "type": "integer", "maximum": limit } } });
        json!({
            "name": name, "served": true, "storage": limits.last().is_some_and(|last| last.0 == *name),
            "schema": { "openAPIV3Schema": { "type": "object", "properties": { "spec": spec } } },
        })
    };
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": { "name": "pages.example.com" },
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": { "plural": "pages", "kind": "Page" },
            "versions": limits.iter().map(version).collect::<Vec<_>>(),
        },
    })
}

fn page(name: &str, size: u32) -> Value {
    json!({ "apiVersion": "example.com/v1", "kind": "Page", "metadata": { "name": name, "namespace": "default" }, "spec": { "size": size } })
}

fn home(files: &[(&str, Value)]) -> tempfile::TempDir {
    let home = tempfile::tempdir().expect("a directory");
    for (name, content) in files {
        std::fs::write(home.path().join(name), content.to_string()).expect("a file");
    }
    home
}

#[test]
fn diff_prints_each_change_and_fails_if_one_breaks() {
    let home = home(&[("old.yaml", definition(&[("v1", 10)])), ("new.yaml", definition(&[("v1", 5)]))]);
    let run = |arguments: &[&str]| cargo_kube(home.path(), &[&["diff"], arguments].concat());
    let output = run(&["old.yaml", "new.yaml"]);
    let expected = "pages.example.com: v1: .spec.size: the maximum is 5, was 10: breaks objects and clients: larger values are refused \
                    (maximum-lowered)\n1 breaking change, 0 others\n";
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(1), expected.to_owned()));
    assert_eq!(run(&["new.yaml", "old.yaml"]).status.code(), Some(0));
    assert_eq!(run(&["old.yaml", "new.yaml", "--allow", "maximum-lowered"]).status.code(), Some(0));
    let json: Value = serde_json::from_slice(&run(&["old.yaml", "new.yaml", "--json"]).stdout).expect("JSON");
    assert_eq!(json[0]["rule"], "maximum-lowered");
    let rules = text(&run(&["--rules"]).stdout);
    assert!(rules.lines().count() > 50 && rules.contains("\nfield-removed "), "{rules}");
}

/// As after `| head` or `| grep -q`: the exit code is that of the command.
#[test]
fn nobody_has_to_read_what_is_printed() {
    let home = home(&[("old.yaml", definition(&[("v1", 10)])), ("new.yaml", definition(&[("v1", 3)]))]);
    for (arguments, code) in
        [(&["--rules"][..], 0), (&["old.yaml", "new.yaml"], 1), (&["old.yaml", "old.yaml", "--json"], 0)]
    {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-kube"));
        command.args(["kube", "crd", "diff"]).args(arguments).current_dir(home.path()).stdout(writer);
        assert_eq!(command.output().expect("the program runs").status.code(), Some(code), "{arguments:?}");
    }
}

#[test]
fn wrong_input_is_one_error() {
    let home = home(&[("old.yaml", definition(&[("v1", 10)])), ("page.yaml", page("a", 1))]);
    for (arguments, expected) in [
        (&["diff", "old.yaml"][..], "error: expected OLD and NEW, or --cluster and NEW\n"),
        (&["diff", "-", "-"], "error: expected - for OLD or for NEW, found it for both\n"),
        (
            &["diff", "old.yaml", "old.yaml", "--allow", "x"],
            "error: --allow x: expected the name of a rule; --rules prints them\n",
        ),
        (
            &["diff", "old.yaml", "page.yaml"],
            "error: page.yaml: expected a CustomResourceDefinition of apiextensions.k8s.io/v1, found none\n",
        ),
        (&["check", "old.yaml"], "error: expected OBJECTS and NEW, or --cluster and NEW\n"),
        (
            &["check", "https://example.com/a.yaml", "old.yaml"],
            "error: https://example.com/a.yaml: expected a file or a directory; URLs are not read\n",
        ),
    ] {
        let output = cargo_kube(home.path(), arguments);
        assert_eq!(
            (text(&output.stderr).as_str(), output.status.code()),
            (expected, Some(2)),
            "{arguments:?}"
        );
    }
    let output = cargo_kube(home.path(), &["check", "missing.yaml", "old.yaml"]);
    let missing = "error: missing.yaml: No such file or directory (os error 2)\n";
    assert_eq!(text(&output.stderr), missing, "the cause is told once");
    std::fs::create_dir(home.path().join("empty")).expect("a directory");
    let output = cargo_kube(home.path(), &["check", "empty", "old.yaml"]);
    let empty = "error: empty: expected a file whose name ends in .yaml, .yml or .json\n";
    assert_eq!(text(&output.stderr), empty, "without a method of the library");
}

#[test]
fn check_prints_the_objects_that_are_not_accepted() {
    let home = home(&[
        (
            "objects.json",
            json!({ "apiVersion": "v1", "kind": "List", "items": [page("large", 20), page("small", 1)] }),
        ),
        ("new.yaml", definition(&[("v1", 5)])),
    ]);
    let run = |arguments: &[&str]| {
        cargo_kube(home.path(), &[&["check", "objects.json", "new.yaml"], arguments].concat())
    };
    let output = run(&[]);
    let lines = text(&output.stdout);
    let lines: Vec<_> = lines.lines().collect();
    let expected = "pages.example.com: default/large: tolerated until an invalid value is changed: Page.example.com \"large\" is invalid: \
                    spec.size: Invalid value: 20: spec.size in body should be less than or equal to 5";
    assert_eq!(lines, [expected, "2 objects: 0 refused, 1 tolerated, 0 lose fields"], "{output:?}");
    assert_eq!(output.status.code(), Some(0));
    let strict = run(&["--strict", "--json"]);
    assert_eq!(strict.status.code(), Some(1));
    let json: Value = serde_json::from_slice(&strict.stdout).expect("JSON");
    assert_eq!((json[0]["outcome"].as_str(), json.as_array().map(Vec::len)), (Some("tolerated"), Some(1)));
}

#[tokio::test(flavor = "multi_thread")]
async fn with_a_cluster_objects_are_compared_checked_and_migrated() {
    let server = TestServer::builder()
        .with_crds([definition(&[("v1", 10)])])
        .with_objects([page("a", 1), page("b", 7)])
        .start()
        .await
        .expect("a server");
    let home = home(&[
        ("new.yaml", definition(&[("v1", 5), ("v2", 5)])),
        ("without.yaml", definition(&[("v2", 10)])),
    ]);
    std::fs::write(home.path().join("kubeconfig"), server.kubeconfig()).expect("a file");
    let run = |arguments: &[&str]| {
        let output = cargo_kube(home.path(), arguments);
        (output.status.code(), text(&output.stdout) + &text(&output.stderr))
    };
    let (code, output) = run(&["diff", "--cluster", "without.yaml"]);
    assert!(code == Some(1) && output.contains("spec.versions[v1]: removed: breaks objects: "), "{output}");
    let (code, output) = run(&["check", "--cluster", "new.yaml"]);
    assert!(code == Some(0) && output.contains("default/b: tolerated"), "{output}");
    assert!(output.ends_with("2 objects: 0 refused, 1 tolerated, 0 lose fields\n"), "{output}");
    let (code, output) = run(&["check", "--cluster", "without.yaml"]);
    assert!(code == Some(2) && output.contains("the server refuses the new definition"), "{output}");

    let definitions: Api<CustomResourceDefinition> = Api::all(Client::new(server.api(), "default"));
    let versions = definition(&[("v1", 10), ("v2", 10)])["spec"]["versions"].take();
    let change = Patch::Merge(json!({ "spec": { "versions": versions } }));
    definitions.patch("pages.example.com", &PatchParams::default(), &change).await.expect("a second version");
    let (code, output) = run(&["migrate", "pages.example.com", "--to", "v1"]);
    assert_eq!(
        (code, &*output),
        (Some(2), "error: pages.example.com: expected the storage version v1, found v2\n")
    );
    let (code, output) = run(&["migrate", "pages.example.com", "--to", "v2", "--state", "state.json"]);
    let expected = "pages.example.com: 2 objects written in v2, 0 were already, 0 written by others, 0 deleted, 0 refused\n\
                    storedVersions no longer has v1\n";
    assert_eq!((code, &*output), (Some(0), expected));
    assert!(!home.path().join("state.json").exists());
    let (code, output) = run(&["migrate", "pages.example.com"]);
    let expected =
        "pages.example.com: nothing to do: storedVersions has v2 alone, so all objects are stored in it\n";
    assert_eq!((code, &*output), (Some(0), expected));
    let (code, output) = run(&["diff", "--cluster", "without.yaml"]);
    assert!(code == Some(1) && !output.contains("breaks objects"), "only clients of v1 are broken: {output}");
}

#[test]
fn a_base_of_kustomize_is_read_without_its_kustomization() {
    let home = home(&[("page.yaml", page("a", 1))]);
    let base = home.path().join("base");
    std::fs::create_dir(&base).expect("a directory");
    std::fs::write(base.join("crd.yaml"), definition(&[("v1", 10)]).to_string()).expect("a file");
    let kustomization =
        "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [crd.yaml]\n";
    std::fs::write(base.join("kustomization.yaml"), kustomization).expect("a file");
    let output = cargo_kube(home.path(), &["check", "page.yaml", "base"]);
    let expected = "1 object: 0 refused, 0 tolerated, 0 lose fields\n";
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(0), expected.to_owned()), "{output:?}");
    let output = cargo_kube(home.path(), &["diff", "base", "base"]);
    assert_eq!(text(&output.stdout), "0 breaking changes, 0 others\n", "{output:?}");
}

#[test]
fn check_of_nothing_is_an_error_that_names_what_there_is() {
    let mut typo = page("a", 1);
    typo["kind"] = json!("Pge");
    let home = home(&[("new.yaml", definition(&[("v1", 10)])), ("typo.yaml", typo)]);
    let output = cargo_kube(home.path(), &["check", "typo.yaml", "new.yaml"]);
    let expected = "error: typo.yaml: expected an object of pages.example.com; found Pge of example.com/v1\n";
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(2), expected.to_owned()));
}
