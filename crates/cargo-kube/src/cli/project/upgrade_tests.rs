use super::*;
use crate::cli::project::description::{NewKind, Scope};

fn git(commit: &str) -> Source {
    Source::Git { url: "https://example.com/kube".into(), commit: commit.into() }
}

fn project(added: &[&str]) -> Project {
    let first = NewKind { kind: "Page".parse().unwrap(), version: "v1".into(), scope: Scope::Namespaced };
    let mut project = Project {
        clusters: None,
        name: "pages".into(),
        template: 1,
        group: "example.com".into(),
        source: git("one"),
        first,
        added: vec![],
    };
    for addition in added {
        project = project.with(&addition.parse().unwrap()).unwrap();
    }
    project
}

/// The templates of a later version of this program.
fn later() -> Vec<Template> {
    vec![templates::find(TEMPLATES, &project(&[])).unwrap().clone(), templates::second()]
}

#[test]
fn without_a_newer_template_only_the_commit_moves() {
    let project = project(&["version Page v2"]);
    let plan = Plan::new(TEMPLATES, &project, Some(git("one"))).unwrap();
    assert_eq!(plan.merge(&plan.base), Merged::default());

    let plan = Plan::new(TEMPLATES, &project, Some(git("two"))).unwrap();
    let merged = plan.merge(&plan.base);
    let [(path, Some(text))] = &merged.changes[..] else { panic!("{merged:?}") };
    assert_eq!(path, "Cargo.toml");
    assert_eq!(Project::parse(text).unwrap(), Project { source: git("two"), ..project.clone() });
    // A checkout is the user's choice.
    let checkout = Project { source: Source::Path("../kube".into()), ..project };
    let plan = Plan::new(TEMPLATES, &checkout, Some(git("two"))).unwrap();
    assert_eq!(plan.merge(&plan.base), Merged::default());
}

#[test]
fn a_newer_template_is_merged_into_a_changed_project() {
    let project = project(&["kind Author v1 Cluster", "webhook Author validate", "version Page v2"]);
    let plan = Plan::new(&later(), &project, Some(git("two"))).unwrap();
    let mut ours = plan.base.clone();
    let change = |files: &mut Files, path: &str, from: &str, to: &str| {
        let text = files[path].replace(from, to);
        assert_ne!(text, files[path], "{path}: {from}");
        files.insert(path.into(), text);
    };
    change(&mut ours, "src/page.rs", "pub message: String,", "pub message: String,\n        pub size: u32,");
    change(&mut ours, "Cargo.toml", "serde_json = \"1\"\n", "serde_json = \"1\"\nregex = \"1\"\n");
    change(&mut ours, "src/lib.rs", "    manager\n}", "    // mine\n    manager\n}");
    ours.remove("README.md");
    let merged = plan.merge(&ours);
    assert_eq!(merged.conflicts, Vec::<String>::new());
    assert_eq!(merged.left, ["README.md"]);
    let text = |path: &str| {
        let found = merged.changes.iter().find(|(it, _)| it == path);
        found.and_then(|(_, text)| text.clone()).unwrap_or_else(|| panic!("{path} does not change"))
    };
    let upgraded = Project { template: 2, source: git("two"), ..project };
    assert_eq!(Project::parse(&text("Cargo.toml")).unwrap(), upgraded);
    assert!(text("Cargo.toml").contains("regex = \"1\""));
    assert!(text("src/lib.rs").contains("grace_period") && text("src/lib.rs").contains("// mine"));
    assert!(text("src/lib.rs").contains("author::reconcile::add_to"));
    assert_eq!(text("deny.toml"), "# new in 2\n");
    assert_eq!(
        merged.changes.iter().find(|(path, _)| path == "Dockerfile"),
        Some(&("Dockerfile".into(), None))
    );
    assert!(!merged.changes.iter().any(|(path, _)| path == "src/page.rs"));

    // What was merged is up to date.
    for (path, changed) in merged.changes {
        match changed {
            Some(text) => ours.insert(path, text),
            None => ours.remove(&path),
        };
    }
    let again = Plan::new(&later(), &upgraded, Some(git("two"))).unwrap();
    assert_eq!(again.merge(&ours), Merged::default());
}

#[test]
fn a_conflict_is_named() {
    let plan = Plan::new(&later(), &project(&[]), None).unwrap();
    let mut ours = plan.base.clone();
    let text = ours["README.md"].replace("# pages\n", "# mine\n");
    ours.insert("README.md".into(), text);
    let merged = plan.merge(&ours);
    assert_eq!(merged.conflicts, ["README.md"]);
    let readme = merged.changes.iter().find(|(path, _)| path == "README.md");
    let text = readme.and_then(|(_, text)| text.clone()).unwrap();
    assert!(
        text.starts_with("<<<<<<< ours\n# mine\n") && text.contains("# changed in 2\n>>>>>>> theirs\n"),
        "{text}"
    );
}

#[test]
fn a_template_of_the_future_is_an_error() {
    let project = Project { template: 7, ..project(&[]) };
    let error = Plan::new(TEMPLATES, &project, None).unwrap_err().to_string();
    assert_eq!(error, "Cargo.toml: template 7: expected at most 1; install a newer cargo-kube");
}
