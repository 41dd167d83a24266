//! `cargo kube manifests`.

use crate::harness::{Project, text};

#[test]
fn the_program_writes_its_manifests() {
    let project = Project::new();
    let output = project.run(&["manifests"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(project.read("project/deploy/install.yaml").contains("kind: Deployment"));
    let all = [
        "manifests",
        "--check",
        "--form",
        "yaml",
        "--form",
        "helm",
        "--out",
        "out",
        "--",
        "--namespace",
        "shop",
    ];
    let output = project.run(&all);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let calls = "manifests deploy\nmanifests --check --form yaml --form helm --namespace shop out\n";
    assert_eq!(project.read("calls"), calls);
}

#[test]
fn a_program_without_the_subcommand_is_told_so() {
    let project = Project::new();
    let expected = "expected a program whose subcommand `manifests` writes manifests";
    for (program, reason) in [
        ("echo 'unknown argument manifests' >&2; exit 2", "ended with exit code 2"),
        ("exit 0", "wrote no manifest"),
        // It takes it for a start, and finds no cluster.
        ("cat \"$KUBECONFIG\"", "ended with exit code 1"),
        ("kill -9 $$", "ended with signal: 9"),
    ] {
        project.executable("program", &format!("#!/bin/sh\n{program}\n"));
        let output = project.run(&["manifests"]);
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(error.contains(&format!("error: `target/op manifests deploy` {reason}")), "{error}");
        assert!(error.contains(expected), "{error}");
    }
    project.executable("program", "#!/bin/sh\necho 'it differs' >&2; exit 1\n");
    let output = project.run(&["manifests", "--check"]);
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(1), "it differs\n".to_owned()));
}

#[test]
fn a_project_that_does_not_build_is_told_so() {
    let project = Project::new();
    project.write("broken", "");
    let output = project.run(&["manifests"]);
    assert_eq!(output.status.code(), Some(2));
    let expected = "error: it is broken\nerror: op does not build: see the messages of Cargo above\n";
    assert_eq!(text(&output.stderr), expected);
}

#[test]
fn the_program_is_found_or_the_choice_is_named() {
    let project = Project::new();
    let error = |arguments: &[&str]| {
        let output = project.run(&[&["manifests"], arguments].concat());
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        text(&output.stderr)
    };
    assert!(
        error(&["--package", "other"])
            .ends_with("--package other: expected a package of the workspace: op\n")
    );
    assert!(error(&["--bin", "other"]).ends_with("--bin other: expected a program of op: op\n"));
    std::fs::create_dir(project.path("project/src/bin")).unwrap();
    project.write("project/src/bin/tool.rs", "fn main() {}\n");
    let several = error(&[]);
    assert!(
        several.ends_with("the package has several programs; expected --bin with one of op, tool\n"),
        "{several}"
    );
    assert_eq!(project.run(&["manifests", "--bin", "op"]).status.code(), Some(0));
    std::fs::remove_file(project.path("project/src/main.rs")).unwrap();
    std::fs::remove_file(project.path("project/src/bin/tool.rs")).unwrap();
    project.write("project/src/lib.rs", "");
    assert!(error(&[]).ends_with("expected a package with a program, found none\n"));
    assert!(error(&["--manifest-path", "none.toml"]).starts_with("error: no project: "));
}
