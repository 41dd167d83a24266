//! `cargo kube gen` as it is called: what it prints, its exit codes, and that wrong input writes nothing.

use std::path::Path;
use std::process::{Command, Output};

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
        (&["missing.yaml"], "error: missing.yaml: "),
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
