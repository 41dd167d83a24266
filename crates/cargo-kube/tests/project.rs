//! `cargo kube new`, `add` and `upgrade` as they are called: what they print and write, their exit codes, and that wrong input writes
//! nothing.

mod texts;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use texts::texts;

const CHECKOUT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

fn cargo_kube(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-kube"));
    command.arg("kube").args(arguments).current_dir(folder).output().expect("the program runs")
}

fn done(folder: &Path, arguments: &[&str]) -> String {
    let output = cargo_kube(folder, arguments);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// The message of wrong input.
fn refused(folder: &Path, arguments: &[&str]) -> String {
    let output = cargo_kube(folder, arguments);
    assert_eq!((output.status.code(), output.stdout.is_empty()), (Some(2), true), "{output:?}");
    String::from_utf8(output.stderr).expect("UTF-8")
}

#[test]
fn new_tells_the_kind_and_where_kube_is() {
    let home = tempfile::tempdir().expect("a folder");
    let printed = done(home.path(), &["new", "pages", "--path", CHECKOUT]);
    let first = "pages: 13 files, for the kind Page (pages.example.com); --kind KIND is for another\n";
    assert!(printed.starts_with(first), "{printed}");
    assert!(
        printed.contains(&format!("  kube is the checkout {CHECKOUT}: its CI needs one as well")),
        "{printed}"
    );
    let printed =
        done(home.path(), &["new", "b", "--kind", "Book", "--clusters", "secrets", "--path", CHECKOUT]);
    assert!(printed.starts_with("b: 13 files, for the kind Book (books.example.com)\n"), "{printed}");
    assert!(
        printed.contains("  a Secret with a kubeconfig makes a cluster: README.md says how\n"),
        "{printed}"
    );
    // A singular that the files use for something else stays a plural.
    for (name, kind) in [("boxes", "Boxes"), ("options", "Options"), ("tests", "Tests"), ("types", "Types")] {
        let printed = done(home.path(), &["new", name, "--path", CHECKOUT]);
        assert!(printed.starts_with(&format!("{name}: 13 files, for the kind {kind} (")), "{printed}");
    }
    let inside = format!("{CHECKOUT}/crates/kube");
    let error = refused(home.path(), &["new", "c", "--path", &inside]);
    assert_eq!(error, format!("error: --path {inside}: expected a checkout of kube; {CHECKOUT} is one\n"));
}

#[test]
fn outside_of_a_project_every_command_says_the_same() {
    let home = tempfile::tempdir().expect("a folder");
    let folder = home.path().canonicalize().expect("a folder");
    let expected = format!(
        "error: {}: expected a project, with Cargo.toml here or in a folder above\n",
        folder.display()
    );
    for command in
        ["add kind A", "upgrade", "manifests", "rbac", "dev", "verify", "verify --list", "verify init"]
    {
        let arguments: Vec<_> = command.split(' ').collect();
        assert_eq!(refused(&folder, &arguments), expected, "{command}");
    }
}

fn project(home: &Path) -> PathBuf {
    done(home, &["new", "pages", "--kind", "Page", "--path", CHECKOUT]);
    home.join("pages")
}

#[test]
fn a_project_is_written_extended_and_up_to_date() {
    let home = tempfile::tempdir().expect("a folder");
    let project = project(home.path());
    assert_eq!(texts(&project).len(), 13);
    assert_eq!(std::fs::read_dir(home.path()).expect("a folder").count(), 1, "nothing else is left");

    for what in ["kind", "version", "webhook"] {
        let help = done(&project, &["add", what, "--help"]);
        assert!(help.contains("Cargo.toml"), "it is changed: {help}");
    }
    let source = project.join("src");
    let printed = done(&source, &["add", "kind", "Author", "--cluster"]);
    let lines: Vec<_> = printed.lines().collect();
    let expected = [
        "changed Cargo.toml",
        "created src/author.rs",
        "created src/author/reconcile.rs",
        "changed src/lib.rs",
        "created tests/author.rs",
        "next: cargo run -- manifests",
        "next: in tests/verify.rs, a step in which a user changes the Author",
    ];
    assert_eq!(lines, expected);
    let printed = done(&project, &["add", "webhook", "Author", "--validate", "--mutate"]);
    for file in ["validate", "mutate"] {
        assert!(project.join(format!("src/author/{file}.rs")).exists());
        assert!(printed.contains(&format!("next: edit src/author/{file}.rs: it ")), "{printed}");
    }
    assert_eq!(printed.matches("next: cargo run -- manifests\n").count(), 1, "{printed}");
    let printed = done(&project, &["add", "version", "Page", "v2"]);
    let later =
        "in a later release: STORED = \"v2\" in src/page.rs, then cargo kube crd migrate pages.example.com\n";
    assert!(printed.ends_with(later), "{printed}");
    let files = texts(&project);
    let lib = &files[&project.join("src/lib.rs")];
    assert!(lib.contains("pub mod author;\npub mod page;\npub mod webhooks;\n"), "{lib}");
    assert!(files[&project.join("src/page.rs")].contains("pub use v2::{Page, PageSpec};"));
    assert_eq!(done(&project, &["upgrade"]), "up to date: template 1\n");
    assert_eq!(texts(&project), files);
}

#[test]
fn a_checkout_with_line_ends_of_windows_is_extended_and_upgraded() {
    let home = tempfile::tempdir().expect("a folder");
    let project = project(home.path());
    for (path, text) in texts(&project) {
        std::fs::write(path, text.replace('\n', "\r\n")).expect("a file");
    }
    done(&project, &["add", "version", "Page", "v2"]);
    let lib = texts(&project)[&project.join("src/lib.rs")].clone();
    assert!(lib.contains("pub mod webhooks;\r\n") && !lib.replace("\r\n", "").contains('\n'), "{lib}");
    assert_eq!(done(&project, &["upgrade"]), "up to date: template 1\n");
}

#[test]
fn wrong_input_is_one_error_and_nothing_is_written() {
    let home = tempfile::tempdir().expect("a folder");
    for (arguments, expected) in [
        (&["new", "Pages"][..], "error: name \"Pages\": expected at most 63 lowercase letters"),
        (&["new", "../pages"], "error: name \"../pages\": expected"),
        (&["new", "kube"], "error: name kube: Rust, Cargo or a dependency of the project has it"),
        (&["new", "a", "--group", "x"], "error: group \"x\": expected a domain"),
        (
            &["new", "a", "--kind", "page"],
            "error: invalid value 'page' for '--kind <KIND>': kind \"page\": expected",
        ),
        (
            &["new", "a", "--kind", "Secret", "--version", "1"],
            "error: version \"1\": expected one such as v1",
        ),
        (&["new", "a", "--kind", "ConfigMap"], "error: kind ConfigMap: the files of a project use this name"),
        (&["new", "a", "--cluster", "--namespaced"], "error: the argument '--cluster' cannot be used with"),
        (&["new", "a", "--clusters", "dns"], "error: invalid value 'dns' for '--clusters <FROM>'"),
        (&["new", "a", "--path", "nowhere"], "error: --path nowhere: expected a checkout of kube"),
        (&["add", "kind", "Page"], "error: "),
        (&["upgrade"], "error: "),
    ] {
        let mut arguments = arguments.to_vec();
        if arguments[0] == "new" && !arguments.contains(&"--path") {
            arguments.extend(["--path", CHECKOUT]);
        }
        let error = refused(home.path(), &arguments);
        assert!(error.starts_with(expected), "{arguments:?}: {error}");
        assert!(texts(home.path()).is_empty());
    }
}

#[test]
fn a_refused_change_leaves_the_project_as_it_was() {
    let home = tempfile::tempdir().expect("a folder");
    let project = project(home.path());
    let lib = project.join("src/lib.rs");
    let text = std::fs::read_to_string(&lib).expect("a text");
    std::fs::write(&lib, text.replace("fn manifests(", "fn deployed(")).expect("written");
    let before = texts(&project);
    for (arguments, expected) in [
        (
            &["add", "kind", "Author"][..],
            "error: src/lib.rs: expected a function `manifests` whose last line is an expression; nothing was changed. \
             Add this there by hand, and run the command again:\n    manifests = manifests.crd(author::crd()?);\n",
        ),
        (&["add", "kind", "Page"], "error: kind Page: expected another kind, the project has Page already\n"),
        (&["add", "version", "Post", "v2"], "error: kind Post: expected a kind of the project: Page\n"),
        (
            &["add", "version", "Page", "v1"],
            "error: version v1: expected another version, Page has v1 already\n",
        ),
    ] {
        assert_eq!(refused(&project, arguments), expected);
        assert_eq!(texts(&project), before, "{arguments:?}");
    }
    let exists = refused(home.path(), &["new", "pages", "--path", CHECKOUT]);
    assert_eq!(exists, "error: pages: exists already; expected a new folder\n");
    assert_eq!(texts(&project), before);

    let manifest = project.join("Cargo.toml");
    let text = std::fs::read_to_string(&manifest).expect("a text");
    for (from, to, expected) in [
        (
            "[package.metadata.cargo-kube]",
            "[package.metadata.other]",
            "expected the table [package.metadata.cargo-kube]",
        ),
        ("template = 1", "template = 9", "Cargo.toml: template 9: expected at most 1"),
        (
            "added = []",
            "added = [\"kind X\"]",
            "Cargo.toml: package.metadata.cargo-kube.added: \"kind X\": expected an addition",
        ),
        ("[dependencies]", "[dependencies", "error: Cargo.toml: TOML parse error"),
    ] {
        std::fs::write(&manifest, text.replace(from, to)).expect("written");
        let error = refused(&project, &["upgrade"]);
        assert!(error.contains(expected), "{error}");
    }
}
