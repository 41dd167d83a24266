//! `cargo kube verify init` as it is called: what it prints and writes, and that wrong input is one error and writes nothing.

mod texts;

use std::path::PathBuf;
use std::process::{Command, Output};

use tempfile::TempDir;
use texts::texts;

const CHECKOUT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

const DEFINITION: &str = "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: pages.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Page, plural: pages}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, required: [replicas], properties: {replicas: {type: integer}}}
";

const SAMPLE: &str =
    "apiVersion: example.com/v1\nkind: Page\nmetadata: {name: a, namespace: shop}\nspec: {replicas: 1}\n";

/// An operator that was not written by `cargo kube new`, and depends on this checkout.
struct Project {
    home: TempDir,
}

impl Project {
    fn new() -> Self {
        let project = Self { home: tempfile::tempdir().expect("a folder") };
        let kube = format!("{CHECKOUT}/crates/kube");
        project.write(
            "Cargo.toml",
            &format!("[package]\nname = \"op\"\n\n[dependencies]\nk8s-openapi = \"0.29\"\nkube = {{ path = {kube:?} }}\n"),
        );
        // What is deployed beside the definitions is no sample.
        project.write(
            "deploy/install.yaml",
            &format!("{DEFINITION}---\napiVersion: v1\nkind: Namespace\nmetadata: {{name: op}}\n"),
        );
        project.write("deploy/samples/page.yaml", SAMPLE);
        project.write("src/lib.rs", "");
        project
    }

    fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).expect("a text")
    }

    fn init(&self, folder: &str, arguments: &[&str]) -> Output {
        self.verify(folder, &[&["init"], arguments].concat())
    }

    fn verify(&self, folder: &str, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-kube"));
        command.args(["kube", "verify"]).args(arguments);
        command.env("CARGO_TARGET_DIR", self.path("target"));
        command.current_dir(self.path(folder)).output().expect("the program runs")
    }

    fn done(&self, folder: &str, arguments: &[&str]) -> String {
        let output = self.init(folder, arguments);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        String::from_utf8(output.stdout).expect("UTF-8")
    }

    /// The message of wrong input, which writes nothing.
    fn refused(&self, folder: &str, arguments: &[&str]) -> String {
        let before = texts(self.home.path());
        let output = self.init(folder, arguments);
        assert_eq!((output.status.code(), output.stdout.is_empty()), (Some(2), true), "{output:?}");
        assert_eq!(texts(self.home.path()), before, "{arguments:?}");
        String::from_utf8(output.stderr).expect("UTF-8")
    }
}

#[test]
fn the_test_is_written_from_definitions_and_samples() {
    let project = Project::new();
    let printed = project.done("deploy", &[]);
    let lines: Vec<_> = printed.lines().collect();
    let test = project.read("tests/verify.rs");
    let open = |what: &str| {
        let number = test.lines().position(|line| line.contains(what)).expect("it is there") + 1;
        format!("fill in tests/verify.rs:{number}: ")
    };
    assert_eq!(lines[..2], ["created tests/verify.rs", "changed Cargo.toml"], "{printed}");
    assert!(lines[2].starts_with(&open("FILL IN: what runs the whole operator")), "{printed}");
    assert!(lines[3].starts_with(&open("FILL IN: |step| step.delete_of(")), "{printed}");
    assert_eq!(lines[4..], ["next: cargo kube verify"], "{printed}");

    assert!(syn::parse_file(&test).is_ok(), "{test}");
    for expected in [
        "fn operator() -> fn(Client) -> Program {",
        "    panic!(\"{}:{}: fill in what runs the operator\", file!(), line!())\n",
        "read(\"deploy\")",
        "read(\"deploy/samples\")",
        ".fixtures(NAMESPACES)",
        "  name: shop\n",
        ".step(\"change\", |step| step.apply(CHANGED))",
        "  replicas: 2\n",
    ] {
        assert!(test.contains(expected), "{expected}: {test}");
    }
    let manifest = project.read("Cargo.toml");
    let verify = format!("{CHECKOUT}/testserver/verify");
    assert!(
        manifest.contains(&format!("kube-verify = {{ path = {verify:?}, features = [\"kube\"] }}\n")),
        "{manifest}"
    );
    assert!(
        manifest.contains("kube-testserver = { path = ") && manifest.contains("serde_json = \"1\"\n"),
        "{manifest}"
    );

    let refused = project.refused("", &[]);
    assert_eq!(refused, "error: tests/verify.rs: exists already; expected no file of this name\n");
}

/// As Git checks texts out on Windows. It does so with each file that it knows as a text, so no `.gitattributes` is written.
#[test]
fn a_checkout_with_windows_line_ends_keeps_them() {
    let (project, windows) = (Project::new(), Project::new());
    for (path, text) in texts(windows.home.path()) {
        std::fs::write(path, text.replace('\n', "\r\n")).expect("a file");
    }
    assert_eq!(windows.done("", &[]), project.done("", &[]));
    assert_eq!(windows.read("tests/verify.rs"), project.read("tests/verify.rs"), "a new file, as Git has it");
    let ends = |text: &str| (text.matches("\r\n").count(), text.matches('\n').count());
    let (crlf, lf) = ends(&windows.read("Cargo.toml"));
    assert!(crlf == lf && lf > 5, "{crlf} of {lf} lines");
    assert_eq!(windows.read("Cargo.toml").replace("\r\n", "\n"), project.read("Cargo.toml"));
    assert_eq!(texts(windows.home.path()).len(), texts(project.home.path()).len());
    assert!(!windows.path(".gitattributes").exists());
}

#[test]
fn an_operator_with_another_client_library_is_a_function_of_a_service() {
    let project = Project::new();
    project.write("Cargo.toml", "[package]\nname = \"op\"\n\n[dependencies]\nkube = \"5\"\n");
    project.done("", &["--path", CHECKOUT]);
    let (test, manifest) = (project.read("tests/verify.rs"), project.read("Cargo.toml"));
    assert!(
        test.contains("fn operator() -> fn(ApiService) -> Program {") && !test.contains("use kube::"),
        "{test}"
    );
    let verify = format!("{CHECKOUT}/testserver/verify");
    let dependency = format!("kube-verify = {{ path = {verify:?}, features = [\"latest\"] }}\n");
    assert!(manifest.contains(&dependency), "{manifest}");
}

#[test]
fn a_program_without_a_library_is_told_to_have_one() {
    let project = Project::new();
    std::fs::rename(project.path("src/lib.rs"), project.path("src/main.rs")).expect("renamed");
    let printed = project.done("", &[]);
    let expected = "FILL IN: add src/lib.rs with a function that does what `main` does, ";
    assert!(printed.contains(expected.trim_start_matches("FILL IN: ")), "{printed}");
    let test = project.read("tests/verify.rs");
    assert!(test.contains(expected) && test.contains("op::run(client)"), "{test}");
}

#[test]
fn definitions_and_samples_may_be_in_one_folder() {
    let project = Project::new();
    project.write("yaml/crd.yaml", DEFINITION);
    project.write("yaml/page.yaml", SAMPLE);
    project.done("", &["--crds", "yaml", "--samples", "yaml"]);
    let test = project.read("tests/verify.rs");
    assert_eq!(test.matches("read(\"yaml\")").count(), 2, "{test}");
}

/// As kubebuilder writes it beside the samples and the definitions.
#[test]
fn the_test_reads_a_folder_with_a_kustomization_as_init_does() {
    let project = Project::new();
    let kustomization =
        "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [page.yaml]\n";
    project.write("config/kustomization.yaml", kustomization);
    project.write("config/kustomization.yml", "resources: []\n");
    project.write("config/crd.yaml", DEFINITION);
    project.write("config/page.yaml", SAMPLE);
    project.write("config/later.yaml/page.yaml", "not: read\n");
    project.done("", &["--crds", "config", "--samples", "config"]);
    let test = project.read("tests/verify.rs");
    assert!(test.contains("Manifests::from(path).objects()"), "{test}");
    let objects = kube_testserver::Manifests::from(project.path("config")).objects().expect("objects");
    let kinds: Vec<_> = objects.iter().map(|object| object["kind"].as_str()).collect();
    assert_eq!(kinds, [Some("CustomResourceDefinition"), Some("Page")]);
}

#[test]
fn options_that_do_nothing_together_are_refused() {
    let project = Project::new();
    for (arguments, expected) in [
        (&["--depth", "2", "--list"][..], "'--depth <N>' cannot be used with '--list'"),
        (
            &["--depth", "2", "--plan", "restart after step 1"],
            "'--depth <N>' cannot be used with '--plan <TEXT>'",
        ),
        (&["--list", "init"], "the subcommand 'init' cannot be used with '--list'"),
        (&["--plan", ""], "a value is required for '--plan <TEXT>' but none was supplied"),
        (&["--families", ""], "a value is required for '--families <FAMILIES>' but none was supplied"),
    ] {
        let output = project.verify("", arguments);
        let error = String::from_utf8(output.stderr).expect("UTF-8");
        assert!(output.status.code() == Some(2) && error.contains(expected), "{arguments:?}: {error}");
    }
}

#[test]
fn a_member_of_a_workspace_uses_what_it_inherits() {
    let project = Project::new();
    let kube = format!("{CHECKOUT}/crates/kube");
    project.write(
        "Cargo.toml",
        &format!(
            "[workspace]\nmembers = [\"ops/*\"]\n[workspace.dependencies]\nkube = {{ path = {kube:?} }}\n"
        ),
    );
    project
        .write("ops/page/Cargo.toml", "[package]\nname = \"op\"\n\n[dependencies]\nkube.workspace = true\n");
    let refused = project.refused("", &[]);
    assert!(refused.contains("Cargo.toml: expected a package, found a workspace"), "{refused}");
    let options = ["--crds", "../../deploy/install.yaml", "--samples", "../../deploy/samples"];
    project.done("ops/page", &options);
    let test = project.read("ops/page/tests/verify.rs");
    assert!(test.contains("read(\"../../deploy/install.yaml\")") && test.contains("fn(Client)"), "{test}");
    assert!(project.read("ops/page/Cargo.toml").contains("features = [\"kube\", \"latest\"]"));
}

#[test]
fn wrong_input_is_one_error_and_writes_nothing() {
    let project = Project::new();
    project.write("bad/crd.yaml", "apiVersion: [\n");
    project.write("other/secret.yaml", "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n");
    project.write("refused/page.yaml", &SAMPLE.replace("replicas: 1", "replicas: one"));
    for (arguments, expected) in [
        (&["--crds", "nowhere"][..], "nowhere: "),
        (&["--crds", "bad"], "bad/crd.yaml, document 1, line "),
        (
            &["--crds", "other"],
            "other: expected a CustomResourceDefinition of apiextensions.k8s.io/v1, found none",
        ),
        (&["--crds", "-"], "--crds -: expected a file or a folder"),
        (&["--samples", "nowhere"], "nowhere: "),
        (
            &["--samples", "other"],
            "other: expected an object of each kind, found none of Page in example.com",
        ),
        (&["--samples", "refused"], "refused: 1 of 1 objects failed: "),
        // Its definition is no sample, and neither is what it deploys.
        (
            &["--samples", "deploy"],
            "deploy: expected an object of each kind, found none of Page in example.com",
        ),
        (&["--path", "nowhere"], "--path nowhere: expected a checkout of kube"),
    ] {
        let error = project.refused("", arguments);
        assert!(error.starts_with("error: ") && error.contains(expected), "{arguments:?}: {error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
    std::fs::remove_dir_all(project.path("deploy/samples")).expect("removed");
    let error = project.refused("", &[]);
    let expected = ": expected samples in deploy/samples, or --samples PATH; an object of each kind, as users create it\n";
    assert!(error.ends_with(expected), "{error}");
    std::fs::remove_dir_all(project.path("deploy")).expect("removed");
    let error = project.refused("", &[]);
    let expected = ": expected definitions in deploy/crds or deploy, or --crds PATH; ";
    let hint = "print `crd()` of a kind in Rust as JSON to such a file\n";
    assert!(error.ends_with(&format!("{expected}{hint}")), "{error}");
    let manifest = project.read("Cargo.toml") + "\n[package.metadata.cargo-kube]\ntemplate = 1\n";
    project.write("Cargo.toml", &manifest);
    let error = project.refused("", &[]);
    assert!(error.ends_with(&format!("{expected}`cargo kube manifests` writes them\n")), "{error}");
    std::fs::remove_file(project.path("Cargo.toml")).expect("removed");
    let error = project.refused("", &[]);
    assert!(error.ends_with(": expected a project, with Cargo.toml here or in a folder above\n"), "{error}");
}

/// The last line of `cargo kube verify` in a folder with these files.
fn without_report(files: &[(&str, &str)]) -> String {
    let project = Project { home: tempfile::tempdir().expect("a folder") };
    for (name, text) in files {
        project.write(name, text);
    }
    let output = project.verify("", &[]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let error = String::from_utf8(output.stderr).expect("UTF-8");
    error.lines().last().expect("an error").to_owned()
}

#[test]
fn the_package_of_the_test_may_have_any_number_of_programs() {
    const PACKAGE: &str = "[package]\nname = \"op\"\nedition = \"2021\"\n";
    const EMPTY: (&str, &str) = ("tests/verify.rs", "#[test]\nfn nothing() {}\n");
    let ran = "error: the test verify left no report: expected a test that ends with `Verify::run`";
    let package = ("Cargo.toml", PACKAGE);
    assert_eq!(without_report(&[package, EMPTY, ("src/lib.rs", "")]), ran);
    let main = "fn main() {}";
    assert_eq!(without_report(&[package, EMPTY, ("src/bin/op.rs", main), ("src/bin/crd.rs", main)]), ran);
    let workspace = [
        ("Cargo.toml", "[workspace]\nmembers = [\"one\", \"two\"]\nresolver = \"2\"\n"),
        ("one/Cargo.toml", &PACKAGE.replace("op", "one")),
        ("one/src/main.rs", main),
        ("two/Cargo.toml", PACKAGE),
        ("two/src/main.rs", main),
    ];
    let with_test = [&workspace[..], &[("two/tests/verify.rs", EMPTY.1)]].concat();
    assert_eq!(without_report(&with_test), ran);
    let error = without_report(&workspace);
    assert!(error.ends_with(": expected a package with the test verify, found none"), "{error}");
}
