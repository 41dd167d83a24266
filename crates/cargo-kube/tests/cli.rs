//! `cargo kube gen` as it is called: what it prints, its exit codes, and that wrong input writes nothing.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const INPUTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/difficult/crds");

fn cargo_kube(directory: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-kube"));
    command.arg("kube").args(arguments).current_dir(directory).output().expect("the program runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn files_are_written_once_and_checked() {
    let home = tempfile::tempdir().expect("a directory");
    let run = |more: &[&str]| cargo_kube(home.path(), &[&["gen", INPUTS, "--out", "crds"], more].concat());
    let check = run(&["--check"]);
    assert_eq!(check.status.code(), Some(1));
    assert!(text(&check.stderr).starts_with("error: out of date: "), "{check:?}");
    assert!(!home.path().join("crds").exists());

    let first = run(&["--json"]);
    assert_eq!(first.status.code(), Some(0), "{first:?}");
    let printed: serde_json::Value = serde_json::from_slice(&first.stdout).expect("JSON");
    assert!(printed["kinds"].as_array().is_some_and(|kinds| kinds.len() >= 60), "{printed}");
    let again = run(&[]);
    assert!(text(&again.stdout).contains("types: crds"), "{again:?}");
    assert_eq!(run(&["--check"]).status.code(), Some(0));
    // The other layout replaces the files of the first.
    assert_eq!(run(&["--per", "group"]).status.code(), Some(0));
    assert!(home.path().join("crds/difficult_example_com.rs").exists());
    assert!(!home.path().join("crds/difficult_example_com/mod.rs").exists());
}

#[test]
fn wrong_input_is_one_error_and_no_file() {
    let home = tempfile::tempdir().expect("a directory");
    std::fs::write(home.path().join("pod.yaml"), "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n")
        .expect("a file");
    std::fs::write(
        home.path().join("bad.yaml"),
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n---\na: [\n",
    )
    .expect("a file");
    std::fs::write(home.path().join("overrides.yaml"), "- {path: .spec.nowhere, name: Here}\n")
        .expect("a file");
    for (arguments, expected) in [
        (
            &["pod.yaml"][..],
            "error: pod.yaml: expected a CustomResourceDefinition of apiextensions.k8s.io/v1, found none",
        ),
        (&["bad.yaml"], "error: bad.yaml, document 2, line "),
        (&["missing.yaml"], "error: missing.yaml: No such file or directory (os error 2)\n"),
        (
            &["https://example.com/crds.yaml"],
            "error: https://example.com/crds.yaml: expected a file or a directory; URLs are not read",
        ),
        (
            &[INPUTS, "--only", "nothing.example.com"],
            "error: --only nothing.example.com: expected the name or the group",
        ),
        (
            &[INPUTS, "--overrides", "overrides.yaml"],
            "error: overrides.yaml: entry 1: expected a field .spec.nowhere in any definition, found none",
        ),
        (&[INPUTS, "--derive", "a b"], "error: derive: expected the path of a derive macro"),
        (&[], "error: expected a file, a directory, - or --cluster"),
    ] {
        let output = cargo_kube(home.path(), &[&["gen", "--out", "crds"], arguments].concat());
        let error = text(&output.stderr);
        assert!(error.starts_with(expected) && error.lines().count() == 1, "{error}");
        assert_eq!(output.status.code(), Some(2));
        assert!(output.stdout.is_empty());
        assert!(!home.path().join("crds").exists());
    }
}

#[test]
fn a_reader_that_has_gone_is_no_error() {
    let home = tempfile::tempdir().expect("a directory");
    for arguments in [
        &["gen", INPUTS, "--out", "crds"][..],
        &["gen", INPUTS, "--out", "crds", "--json"],
        &["completions", "bash"],
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-kube"));
        command.arg("kube").args(arguments).current_dir(home.path());
        let mut child =
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program runs");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("it ends");
        assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), String::new()), "{arguments:?}");
    }
}

#[test]
fn completions_are_for_every_shell() {
    let home = tempfile::tempdir().expect("a directory");
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let output = cargo_kube(home.path(), &["completions", shell]);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        assert!(text(&output.stdout).contains("manifests"), "{shell}");
    }
    let output = cargo_kube(home.path(), &["completions", "cmd"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
}

/// The texts of the Rust files below a directory, by their paths.
fn rust_files(directory: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let mut directories = vec![directory.to_owned()];
    while let Some(next) = directories.pop() {
        for entry in std::fs::read_dir(&next).expect("a directory") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                directories.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = std::fs::read_to_string(&path).expect("a file");
                found.insert(path.strip_prefix(directory).expect("it is below").to_owned(), text);
            }
        }
    }
    found
}

#[test]
fn the_definitions_of_a_cluster_give_the_same_types() {
    let home = tempfile::tempdir().expect("a directory");
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    let definitions = cargo_kube::types::Definitions::read(INPUTS).expect("valid");
    let crds: Vec<_> = definitions.iter().map(|crd| serde_json::to_value(crd).expect("valid")).collect();
    let server = runtime.block_on(async {
        let empty = kube_testserver::TestServer::start().await.expect("a server");
        let full =
            kube_testserver::TestServer::builder().with_crds(crds).tls().start().await.expect("a server");
        [empty, full]
    });
    for (server, name) in server.iter().zip(["empty", "full"]) {
        std::fs::write(home.path().join(name), server.kubeconfig()).expect("a file");
    }
    let run = |kubeconfig: &str, arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-kube"));
        command
            .args(["kube", "gen", "--cluster", "--out", "cluster"])
            .args(arguments)
            .current_dir(home.path());
        command.env("KUBECONFIG", home.path().join(kubeconfig)).output().expect("the program runs")
    };
    let output = run("full", &[]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let files = cargo_kube(home.path(), &["gen", INPUTS, "--out", "files"]);
    assert_eq!(files.status.code(), Some(0), "{files:?}");
    let [cluster, files] = ["cluster", "files"].map(|name| rust_files(&home.path().join(name)));
    assert!(files.len() >= 60 && cluster == files, "{:?} {:?}", cluster.keys(), files.keys());

    let output = run("full", &["--only", "other.example.com", "--context", "testserver", "--check"]);
    assert_eq!(output.status.code(), Some(1), "fewer kinds are another module: {output:?}");
    for (kubeconfig, arguments, expected) in [
        ("empty", &[][..], "error: the cluster: expected a CustomResourceDefinition, found none\n"),
        ("full", &["--context", "other"], "error: context other: "),
        ("none", &[], "error: no usable cluster configuration: the kubeconfig "),
    ] {
        let output = run(kubeconfig, arguments);
        let error = text(&output.stderr);
        assert!(
            output.status.code() == Some(2) && error.starts_with(expected) && error.lines().count() == 1,
            "{error}"
        );
    }
    drop(server);
}
