use super::*;
use crate::cli::project::description::{Addition, Clusters, NewKind, Project, Scope};
use crate::cli::project::source::Source;

/// A later template, for tests of upgrades: a changed line, a new file, one that is no more.
pub(in crate::cli::project) fn second() -> Template {
    fn create(project: &Project) -> Files {
        let mut files = (v1::TEMPLATE.create)(project);
        let lib = files["src/lib.rs"].replace(
            ".version(env!(\"CARGO_PKG_VERSION\"))",
            ".version(env!(\"CARGO_PKG_VERSION\"))\n        .grace_period(Duration::from_secs(20))",
        );
        files.insert("src/lib.rs".into(), lib);
        files.insert("README.md".into(), "# changed in 2\n".into());
        files.insert("deny.toml".into(), "# new in 2\n".into());
        files.remove("Dockerfile");
        files
    }
    Template { number: 2, create, ..v1::TEMPLATE }
}

fn project(kind: &str, scope: Scope, source: Source) -> Project {
    let first = NewKind { kind: kind.parse().unwrap(), version: "v1".into(), scope };
    Project {
        name: "page-operator".into(),
        template: newest(TEMPLATES).number,
        group: "example.com".into(),
        source,
        clusters: None,
        first,
        added: vec![],
    }
}

fn with(mut project: Project, added: &[&str]) -> Project {
    for addition in added {
        project = project.with(&addition.parse().unwrap()).unwrap();
    }
    project
}

fn git() -> Source {
    Source::Git { url: "https://example.com/kube".into(), commit: "0123abc".into() }
}

fn pages(added: &[&str]) -> Project {
    with(project("Page", Scope::Namespaced, git()), added)
}

fn render(project: &Project) -> Files {
    newest(TEMPLATES).render(project).unwrap()
}

/// Everything that can be added, in an order with all first and second cases.
const ALL: [&str; 8] = [
    "kind BlogPost v1alpha1 Cluster",
    "webhook Page validate",
    "webhook BlogPost validate",
    "version Page v2",
    "webhook BlogPost mutate",
    "version Page v3",
    "kind Author v1 Namespaced",
    "version BlogPost v1",
];

/// What would be wrong in any text of a project.
fn check(files: &Files) {
    for (path, text) in files {
        for part in [path, text] {
            let placeholder = part
                .split("__")
                .skip(1)
                .step_by(2)
                .find(|it| !it.is_empty() && it.chars().all(|c| c.is_ascii_uppercase() || c == '_'));
            assert_eq!(placeholder, None, "{path}");
        }
        assert!(text.ends_with('\n') && !text.contains(" \n") && !text.contains("\n\n\n"), "{path}:\n{text}");
        if path.ends_with(".rs") {
            syn::parse_file(text).unwrap_or_else(|error| panic!("{path}: {error}\n{text}"));
            assert!(text.starts_with("//! "), "{path}");
        }
    }
}

#[test]
fn a_new_project_has_thirteen_files_with_every_answer_in_its_place() {
    let paths = [Source::Path("../kube".into()), Source::Path("/work/kube".into()), git()];
    for source in paths {
        for scope in [Scope::Namespaced, Scope::Cluster] {
            let project = project("BlogPost", scope, source.clone());
            let files = render(&project);
            assert_eq!(files.len(), 13, "{:?}", files.keys());
            check(&files);
            assert_eq!(Project::parse(&files["Cargo.toml"]).unwrap(), project);
            let kind = &files["src/blog_post.rs"];
            assert!(kind.contains("#[kube(group = \"example.com\", version = \"v1\")]"), "{kind}");
            assert_eq!(
                kind.contains("kind = \"BlogPost\", namespaced"),
                scope == Scope::Namespaced,
                "{kind}"
            );
            let reconcile = &files["src/blog_post/reconcile.rs"];
            assert!(reconcile.contains(".controller(\"blogposts\", controller"), "{reconcile}");
            assert_eq!(files["Dockerfile"].contains("COPY --from=kube"), source.local().is_some());
        }
    }
}

#[test]
fn a_project_for_many_clusters_has_no_more_files_and_keeps_its_answer() {
    for scope in [Scope::Namespaced, Scope::Cluster] {
        let many = Project { clusters: Some(Clusters::Secrets), ..project("Page", scope, git()) };
        let files = render(&many);
        assert_eq!(files.len(), 13, "{:?}", files.keys());
        check(&files);
        assert_eq!(Project::parse(&files["Cargo.toml"]).unwrap(), many);
        for (path, part) in [
            ("src/lib.rs", "manager = manager.clusters(clusters);"),
            ("src/lib.rs", "manifests = manifests.for_members(NAME);"),
            ("src/page/reconcile.rs", "\"pages-of-members\","),
            ("tests/operator.rs", "granted_on_members()"),
            ("README.md", "## Other clusters"),
            // Credentials: for nobody else to read, and not kept.
            ("README.md", "(umask 077; kubectl config view --context EAST --minify --flatten > east.yaml)"),
            ("README.md", "\nrm east.yaml\n```"),
            ("README.md", "in a Secret of its namespace, `page-operator`,"),
        ] {
            assert!(files[path].contains(part), "{path}: {part}\n{}", files[path]);
            assert!(!render(&pages(&[]))[path].contains(part), "{path}: {part}");
        }
        let files = render(&with(many, &ALL));
        check(&files);
        assert!(
            files["src/blog_post/reconcile.rs"].contains("\"blogposts-of-members\","),
            "added kinds, too"
        );
    }
    let other = render(&Project { clusters: Some(Clusters::Secrets), ..pages(&[]) })["Cargo.toml"]
        .replace("clusters = \"secrets\"", "clusters = \"dns\"");
    let error = format!("{:#}", Project::parse(&other).unwrap_err());
    assert_eq!(error, "Cargo.toml: package.metadata.cargo-kube.clusters: \"dns\": expected \"secrets\"");
}

/// The user's next commit has only what the user has changed.
#[test]
fn what_is_written_is_as_rustfmt_would_write_it() {
    let mut different = Vec::new();
    for (kind, scope) in [
        ("Page", Scope::Namespaced),
        ("BlogPost", Scope::Cluster),
        ("BackupSchedule", Scope::Namespaced),
        ("CertificateRequest", Scope::Cluster),
    ] {
        let additions = [
            format!("webhook {kind} validate"),
            format!("version {kind} v1beta1"),
            format!("webhook {kind} mutate"),
            format!("version {kind} v1beta2"),
            "kind VirtualMachine v1alpha1 Namespaced".to_owned(),
            format!("version {kind} v2"),
            "version VirtualMachine v1".to_owned(),
            format!("version {kind} v3"),
        ];
        let additions = additions.each_ref().map(String::as_str);
        for clusters in [None, Some(Clusters::Secrets)] {
            for count in 0..=additions.len() {
                let project = Project { clusters, ..project(kind, scope, git()) };
                let files = render(&with(project, &additions[..count]));
                let differences = rustfmt(&files);
                if !differences.is_empty() {
                    different.push(format!("{kind}, {clusters:?}, {count} additions:\n{differences}"));
                }
            }
        }
    }
    assert!(different.is_empty(), "{}", different.concat());
}

/// What rustfmt would change. Its settings are those of a project.
fn rustfmt(files: &Files) -> String {
    let folder = tempfile::tempdir().unwrap();
    let mut command = std::process::Command::new("rustfmt");
    command.args(["--check", "--edition", "2024", "--config-path", "/dev/null"]);
    for (path, text) in files.iter().filter(|(path, _)| path.ends_with(".rs")) {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        command.arg(path);
    }
    let output = command.output().expect("rustfmt");
    [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap()).concat()
}

/// A project whose kind is called as itself, which `new NAME` writes.
fn same(name: &str, kind: &str) -> Project {
    Project { name: name.into(), ..project(kind, Scope::Namespaced, git()) }
}

#[test]
fn no_import_hides_a_crate() {
    for (name, kind) in [("a", "A"), ("pages", "Pages"), ("p2", "P2"), ("blog-post", "BlogPost")] {
        let all = [
            format!("version {kind} v2"),
            format!("webhook {kind} validate"),
            format!("webhook {kind} mutate"),
        ];
        let files = render(&with(same(name, kind), &all.each_ref().map(String::as_str)));
        let manifest: toml_edit::DocumentMut = files["Cargo.toml"].parse().unwrap();
        let dependencies =
            ["dependencies", "dev-dependencies"].map(|table| manifest[table].as_table().unwrap());
        let crates: Vec<_> =
            dependencies.iter().flat_map(|table| table.iter()).map(|(name, _)| name).collect();
        for name in &crates {
            crate::cli::project::names::check_project(name).unwrap_err();
        }
        let crates: Vec<_> = crates.iter().chain([&name]).map(|name| name.replace('-', "_")).collect();
        for (path, text) in files.iter().filter(|(path, _)| path.ends_with(".rs")) {
            let items = syn::parse_file(text).unwrap().items;
            let imported = items.iter().filter_map(|item| match item {
                syn::Item::Use(item) => Some(imported(&item.tree, "")),
                _ => None,
            });
            for name in imported.flatten() {
                assert!(!crates.contains(&name), "{path} imports {name}, which hides the crate");
            }
        }
    }
}

/// The names that an import brings into a file.
fn imported(tree: &syn::UseTree, parent: &str) -> Vec<String> {
    match tree {
        syn::UseTree::Path(path) => imported(&path.tree, &path.ident.to_string()),
        syn::UseTree::Name(name) if name.ident == "self" => vec![parent.to_owned()],
        syn::UseTree::Name(name) => vec![name.ident.to_string()],
        syn::UseTree::Rename(name) => vec![name.rename.to_string()],
        syn::UseTree::Group(group) => group.items.iter().flat_map(|tree| imported(tree, parent)).collect(),
        syn::UseTree::Glob(_) => Vec::new(),
    }
}

#[test]
fn an_image_gets_the_checkout_where_the_manifest_expects_it() {
    let dockerfile = |source| render(&project("Page", Scope::Cluster, source))["Dockerfile"].clone();
    let text = dockerfile(Source::Path("../kube".into()));
    assert!(
        text.contains("# docker build --build-context kube=\"../kube\" -t page-operator:0.1.0 .\n"),
        "{text}"
    );
    assert!(text.contains("COPY --from=kube [\"crates\", \"/src/kube/crates\"]\n"), "{text}");
    let text = dockerfile(Source::Git { url: "file:///srv/kube".into(), commit: "0".into() });
    assert!(text.contains("COPY --from=kube [\".\", \"/srv/kube/\"]\n"), "{text}");
}

#[test]
fn additions_are_new_files_and_few_lines() {
    let before = render(&pages(&[]));
    let lines = |files: &Files, path: &str| files[path].lines().map(str::to_owned).collect::<Vec<_>>();
    let added = |after: &Files, path: &str| {
        let old = before.get(path).map(|_| lines(&before, path)).unwrap_or_default();
        lines(after, path).into_iter().filter(|line| !old.contains(line)).collect::<Vec<_>>()
    };
    let after = render(&pages(&["kind Author v1beta1 Cluster"]));
    assert_eq!(
        added(&after, "src/lib.rs"),
        [
            "pub mod author;",
            "    manager = author::reconcile::add_to(manager, &client);",
            "    manifests = manifests.crd(author::crd()?);",
            "    manifests = manifests.sample(&author::sample());",
        ]
    );
    let new: Vec<_> = after.keys().filter(|path| !before.contains_key(*path)).collect();
    assert_eq!(new, ["src/author.rs", "src/author/reconcile.rs", "tests/author.rs"]);
    assert!(after["src/lib.rs"].contains("pub mod author;\npub mod page;\n"));

    let after = render(&pages(&["webhook Page mutate"]));
    assert_eq!(added(&after, "src/page.rs"), ["pub mod mutate;"]);
    let expected = [
        "pub mod webhooks;",
        "    let certificates = webhooks::certificates(&client);",
        "    manager = manager.webhooks(addresses.webhooks, certificates, webhooks::webhooks());",
    ];
    assert_eq!(added(&after, "src/lib.rs"), expected);
    let webhooks = &after["src/webhooks.rs"];
    assert!(
        webhooks.contains("    certificates = certificates.mutating(NAME);\n    certificates\n"),
        "{webhooks}"
    );
    assert!(!webhooks.contains("validating"), "{webhooks}");
}

#[test]
fn all_additions_together_are_rust_and_are_recorded() {
    let project = pages(&ALL);
    let files = render(&project);
    check(&files);
    assert_eq!(Project::parse(&files["Cargo.toml"]).unwrap(), project);
    let page = &files["src/page.rs"];
    assert!(page.contains("pub use v3::{Page, PageSpec};"), "{page}");
    let stored = "pub const STORED: &str = \"v1\";\n";
    assert!(page.contains(stored), "a version is stored in a later release than it is served: {page}");
    assert!(page.contains("merge_crds(versions, STORED)"), "{page}");
    assert!(
        page.contains("let versions = vec![v1::Page::crd(), v2::Page::crd(), v3::Page::crd()];"),
        "{page}"
    );
    for (from, to) in [("v1", "v2"), ("v2", "v1"), ("v2", "v3"), ("v3", "v2"), ("v1", "v3"), ("v3", "v1")] {
        assert!(page.contains(&format!("impl From<{from}::Page> for {to}::Page {{")), "{page}");
    }
    let webhooks = &files["src/webhooks.rs"];
    for (line, times) in [
        ("certificates.validating(NAME);", 1),
        ("certificates.mutating(NAME);", 1),
        ("certificates.crd(\"pages.example.com\");", 1),
        ("certificates.crd(\"blogposts.example.com\");", 1),
        ("webhooks.convert(crate::page::versions());", 1),
        ("webhooks.validate(crate::blog_post::validate::validate);", 1),
    ] {
        assert_eq!(webhooks.matches(line).count(), times, "{line}\n{webhooks}");
    }
}

#[test]
fn a_version_takes_over_the_fields_of_the_user() {
    let mut files = render(&pages(&[]));
    let user = files["src/page.rs"].replace(
        "        pub message: String,\n",
        "        pub message: String,\n        /// É.\n        #[serde(default = \"one\")]\n        pub sections: Vec<Section>,\n",
    );
    let user = user.replace(
        "        pub sections: Vec<Section>,\n    }\n}\n",
        "        pub sections: Vec<Section>,\n    }\n\n    fn one() -> Vec<Section> {\n        Vec::new()\n    }\n\n    \
         /// A part.\n    #[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]\n    pub struct Section {\n        \
         pub text: String,\n    }\n\n    impl Section {\n        fn empty() {}\n    }\n}\n",
    );
    assert_ne!(user, files["src/page.rs"]);
    files.insert("src/page.rs".into(), user);
    let addition: Addition = "version Page v2".parse().unwrap();
    newest(TEMPLATES).add(&pages(&[]), &addition, &mut files).unwrap();
    check(&files);
    let page = &files["src/page.rs"];
    let new = page.split_once("pub mod v2 {").unwrap().1.split_once("\n}\n").unwrap().0;
    assert!(new.contains("//! Version `v2`.") && new.contains("version = \"v2\""), "{new}");
    assert!(new.contains("    pub use super::v1::Section;\n    use super::PageStatus;\n"), "{new}");
    assert!(new.contains("fn one()") && new.contains("pub sections: Vec<Section>"), "{new}");
    assert!(!new.contains("struct Section") && !new.contains("fn empty"), "{new}");
    let fields = "{ message, sections }";
    assert!(page.contains(&format!("let v1::PageSpec {fields} = object.spec;")), "{page}");
    assert!(page.contains(&format!("let spec = v2::PageSpec {fields};")), "{page}");
}

#[test]
fn a_place_that_is_lost_is_named_with_the_line_to_add() {
    let template = newest(TEMPLATES);
    let refusal = |path: &str, from: &str, to: &str, addition: &str| {
        let mut files = render(&pages(&[]));
        let changed = files[path].replace(from, to);
        assert_ne!(changed, files[path]);
        files.insert(path.into(), changed);
        template.add(&pages(&[]), &addition.parse().unwrap(), &mut files).unwrap_err().to_string()
    };
    let error = refusal("src/lib.rs", "fn manager(", "fn run(", "kind Author v1 Cluster");
    assert_eq!(
        error,
        "src/lib.rs: expected a function `manager` whose last line is an expression; nothing was changed. \
         Add this there by hand, and run the command again:\n    \
         manager = author::reconcile::add_to(manager, &client);"
    );
    let error = refusal("src/page.rs", "vec![", "list(", "version Page v2");
    assert!(error.starts_with("src/page.rs: version v1: expected a file that Rust can parse"), "{error}");
    let error = refusal("src/page.rs", "vec![v1::Page::crd()]", "all()", "version Page v2");
    assert!(
        error.starts_with("src/page.rs: expected a function `crd` with the list")
            && error.ends_with("v2::Page::crd()"),
        "{error}"
    );
    let error = refusal("src/page.rs", "const STORED", "const KEPT", "version Page v2");
    assert!(
        error.starts_with("src/page.rs: expected a constant `STORED`, which `crd` gives to `merge_crds`")
            && error.contains("pub const STORED: &str = \"v1\";"),
        "{error}"
    );
    let error = refusal("src/page.rs", "pub mod v1 {", "pub mod one {", "version Page v2");
    assert!(error.starts_with("src/page.rs: version v1: expected the module of the version"), "{error}");
    let error = refusal("src/page.rs", "pub use v1::{Page", "pub use v1::{Page as P", "version Page v2");
    assert!(error.contains("expected `pub use v1::Page;`"), "{error}");
    let error = refusal("Cargo.toml", "added = []", "added = 1", "kind Author v1 Cluster");
    assert!(error.ends_with("\"kind Author v1 Cluster\""), "{error}");
}

#[test]
fn with_the_lines_added_by_hand_the_addition_works() {
    let mut files = render(&pages(&[]));
    let line = "    manager = author::reconcile::add_to(manager, &client);\n";
    let text = files["src/lib.rs"].replace("fn manager(", "fn parts(");
    let text = text.replace("    manager\n}", &format!("{line}    manager\n}}"));
    files.insert("src/lib.rs".into(), text);
    let addition: Addition = "kind Author v1 Cluster".parse().unwrap();
    newest(TEMPLATES).add(&pages(&[]), &addition, &mut files).unwrap();
    assert_eq!(files["src/lib.rs"].matches(line).count(), 1);
    assert!(files.contains_key("src/author.rs"));
}

#[test]
fn a_file_in_the_way_is_an_error() {
    let mut files = render(&pages(&[]));
    files.insert("src/author.rs".into(), String::new());
    let addition: Addition = "kind Author v1 Cluster".parse().unwrap();
    let error = newest(TEMPLATES).add(&pages(&[]), &addition, &mut files).unwrap_err().to_string();
    assert_eq!(error, "src/author.rs: exists already; expected no file of this name");
}

#[test]
fn what_contradicts_the_project_is_refused() {
    let project = pages(&["version Page v2", "webhook Page validate"]);
    for (addition, expected) in [
        ("kind Page v1 Cluster", "kind Page: expected another kind, the project has Page already"),
        ("kind PAGE v1 Cluster", "kind PAGE: expected another kind, the project has Page already"),
        ("version Post v2", "kind Post: expected a kind of the project: Page"),
        ("version Page v1", "version v1: expected another version, Page has v1, v2 already"),
        ("version Page 2", "version \"2\": expected one such as v1, v1beta1 or v2alpha1"),
        ("webhook Page validate", "Page has the webhook validate already"),
        ("webhook Post mutate", "kind Post: expected a kind of the project: Page"),
    ] {
        let error = project.with(&addition.parse().unwrap()).unwrap_err().to_string();
        assert_eq!(error, expected);
    }
    assert!("webhook Page".parse::<Addition>().is_err());
}

#[test]
fn kinds_with_the_name_of_something_else_are_refused() {
    let project = pages(&[]);
    for kind in
        ["ConfigMap", "Client", "Arc", "Condition", "Denial", "Option", "Default", "TestServer", "Arguments"]
    {
        let error = check_free(newest(TEMPLATES), &project, &kind.parse().unwrap()).unwrap_err().to_string();
        assert!(error.ends_with("use this name for something else; expected another kind"), "{error}");
    }
    for kind in ["Page", "BlogPost", "Widget", "Database"] {
        check_free(newest(TEMPLATES), &project, &kind.parse().unwrap()).unwrap();
    }
}
