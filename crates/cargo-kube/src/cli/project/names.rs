//! Names of projects, groups, kinds and versions: which are accepted, and what follows from them.

use std::fmt;
use std::str::FromStr;

use anyhow::{Result, bail, ensure};
use heck::{ToSnakeCase as _, ToUpperCamelCase as _};
use kube_core::discovery::ApiResource;
use kube_core::gvk::GroupVersionKind;

/// Crates that a project uses, and modules and tests that it has: no module and no package may have one of these names. `gen` is a keyword
/// of Rust 2024.
const TAKEN: [&str; 26] = [
    "alloc",
    "anyhow",
    "clap",
    "core",
    "embedded",
    "gen",
    "http",
    "k8s_openapi",
    "kube",
    "kube_testserver",
    "kube_verify",
    "lib",
    "main",
    "operator",
    "proc_macro",
    "schemars",
    "serde",
    "serde_json",
    "std",
    "test",
    "thiserror",
    "tokio",
    "tower",
    "tracing",
    "tracing_subscriber",
    "webhooks",
];

/// Folders in which Cargo builds: it refuses a program of such a name.
const FOLDERS_OF_CARGO: [&str; 4] = ["build", "deps", "examples", "incremental"];

/// A kind such as `Page`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Kind(String);

impl Kind {
    /// The module of the kind: `blog_post` for `BlogPost`.
    pub(super) fn module(&self) -> String {
        self.0.to_snake_case()
    }

    /// As in names of objects: `blogpost`.
    pub(super) fn lower(&self) -> String {
        self.0.to_ascii_lowercase()
    }

    /// As in URLs: `blogposts`. The same rule as in the derive macro `CustomResource`.
    pub(super) fn plural(&self) -> String {
        ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", &self.0)).plural
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// That of a project without another choice: `Page` for `page` and `page-operator`, `Pages` for `pages`.
    pub(super) fn of_project(name: &str) -> Result<Self> {
        let stem = ["-operator", "-controller"].iter().find_map(|end| name.strip_suffix(end));
        stem.unwrap_or(name).to_upper_camel_case().parse()
    }

    /// `Page` for `pages`: if the name is certainly a plural, and its singular can be a kind.
    pub(super) fn singular_of_project(name: &str) -> Option<Self> {
        singular(name)?.to_upper_camel_case().parse().ok()
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Kind {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        let begins = text.starts_with(|c: char| c.is_ascii_uppercase());
        ensure!(
            begins && text.len() <= 63 && text.chars().all(|c| c.is_ascii_alphanumeric()),
            "kind {text:?}: expected at most 63 letters and digits, beginning with a capital, such as Page"
        );
        let kind = Self(text.to_owned());
        let module = kind.module();
        if is_taken(&module) {
            bail!("kind {text}: the module {module} cannot have this name; expected another kind");
        }
        Ok(kind)
    }
}

/// Ends that are no plural, or one of which the singular has not all but the `s`: `status`, `metrics`, `caches`, `statuses`.
const NO_PLAIN_PLURALS: [&str; 24] = [
    "ss",
    "us",
    "is",
    "as",
    "os",
    "ns",
    "js",
    "fs",
    "ics",
    "ops",
    "ies",
    "oes",
    "ses",
    "xes",
    "zes",
    "ches",
    "shes",
    "dices",
    "tices",
    "rices",
    "https",
    "kubernetes",
    "postgres",
    "windows",
];

/// Of a plural without doubt. Short words are mostly names: `dns`, `tls`.
fn singular(name: &str) -> Option<&str> {
    let last = name.rsplit('-').next().unwrap_or(name);
    let is_plural = last.len() >= 5 && !NO_PLAIN_PLURALS.iter().any(|end| last.ends_with(end));
    name.strip_suffix('s').filter(|_| is_plural)
}

/// The name of a project: of its package, its Deployment and its Service.
pub(super) fn check_project(name: &str) -> Result<()> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let begins = name.starts_with(|c: char| c.is_ascii_lowercase());
    ensure!(
        begins && name.len() <= 63 && name.chars().all(plain) && !name.ends_with('-'),
        "name {name:?}: expected at most 63 lowercase letters, digits and \"-\", beginning with a letter"
    );
    ensure!(
        !is_taken(&name.replace('-', "_")) && !FOLDERS_OF_CARGO.contains(&name),
        "name {name}: Rust, Cargo or a dependency of the project has it; expected another name, such as {name}-operator"
    );
    Ok(())
}

/// Whether it cannot be the name of a module or a crate. That of a version would hide the modules of versions.
fn is_taken(name: &str) -> bool {
    let is_word = syn::parse_str::<syn::Ident>(name).is_err();
    is_word || TAKEN.contains(&name) || check_version(name).is_ok()
}

/// An API group, as API servers accept it.
pub(super) fn check_group(group: &str) -> Result<()> {
    let is_label = |label: &str| {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        !label.is_empty() && label.chars().all(plain) && !label.starts_with('-') && !label.ends_with('-')
    };
    ensure!(
        group.len() <= 189 && group.contains('.') && group.split('.').all(is_label),
        "group {group:?}: expected a domain with a dot, in lowercase, such as example.com"
    );
    let of_kubernetes =
        ["k8s.io", "kubernetes.io"].iter().any(|end| group == *end || group.ends_with(&format!(".{end}")));
    ensure!(!of_kubernetes, "group {group}: Kubernetes reserves it; expected a domain of your own");
    Ok(())
}

/// A version such as `v1`, `v1alpha1`, `v2beta3`.
pub(super) fn check_version(version: &str) -> Result<()> {
    let number =
        |text: &str| !text.is_empty() && !text.starts_with('0') && text.chars().all(|c| c.is_ascii_digit());
    let stable = |text: &str| {
        ["alpha", "beta"]
            .iter()
            .find_map(|stage| text.split_once(stage))
            .map_or_else(|| number(text), |(major, minor)| number(major) && number(minor))
    };
    ensure!(
        version.len() <= 20 && version.strip_prefix('v').is_some_and(stable),
        "version {version:?}: expected one such as v1, v1beta1 or v2alpha1"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused<T: fmt::Debug>(result: Result<T>) -> String {
        result.unwrap_err().to_string()
    }

    #[test]
    fn names_follow_from_the_kind() {
        for (kind, module, lower, plural) in [
            ("Page", "page", "page", "pages"),
            ("BlogPost", "blog_post", "blogpost", "blogposts"),
            ("HTTPRoute", "http_route", "httproute", "httproutes"),
            ("Policy", "policy", "policy", "policies"),
        ] {
            let kind: Kind = kind.parse().unwrap();
            assert_eq!(
                (kind.module(), kind.lower(), kind.plural()),
                (module.into(), lower.into(), plural.into())
            );
        }
    }

    #[test]
    fn a_project_has_the_kind_of_its_name() {
        for (project, kind) in [
            ("page-operator", "Page"),
            ("blog-post", "BlogPost"),
            ("pages", "Pages"),
            // What a product is called.
            ("postgres-operator", "Postgres"),
            ("types-operator", "Types"),
        ] {
            assert_eq!(Kind::of_project(project).unwrap().as_str(), kind);
        }
        assert!(refused(Kind::of_project("type-operator")).contains("cannot have this name"));
    }

    #[test]
    fn a_singular_is_a_plain_one_that_is_certain() {
        for (project, kind) in [
            ("pages", "Page"),
            ("blog-posts", "BlogPost"),
            ("http-routes", "HttpRoute"),
            ("services", "Service"),
            ("gateways", "Gateway"),
            ("volumes", "Volume"),
        ] {
            assert_eq!(Kind::singular_of_project(project).unwrap().as_str(), kind);
        }
        let unsure = [
            "caches matches branches boxes bushes topazes echoes movies series cookies policies statuses aliases",
            "databases indices vertices status redis aws https my-tls jobs chaos jenkins canvas dns address metrics cephfs",
            "expressjs kubernetes postgres my-postgres windows devops page a pages-operator",
        ];
        let keywords_and_taken = "types traits crates moves operators tests kubes";
        for project in unsure.iter().flat_map(|it| it.split(' ')).chain(keywords_and_taken.split(' ')) {
            assert_eq!(Kind::singular_of_project(project), None, "{project}");
        }
    }

    #[test]
    fn kinds_that_cannot_be_modules_are_refused() {
        for kind in ["", "page", "My-Kind", "Ünit", "2Page", &"A".repeat(64)] {
            assert!(refused(kind.parse::<Kind>()).contains("expected at most 63 letters"), "{kind}");
        }
        for kind in ["Type", "Self", "Crate", "Gen", "Kube", "Std", "Embedded", "Webhooks", "V1", "V10"] {
            assert!(refused(kind.parse::<Kind>()).contains("cannot have this name"), "{kind}");
        }
    }

    #[test]
    fn names_of_projects_are_those_of_services_and_packages() {
        for name in ["a", "page-operator", "p2", "v-1", "type-checker"] {
            check_project(name).unwrap();
        }
        for name in ["", "Page", "2pages", "pages-", "-pages", "my_pages", "../pages", "a.b", &"a".repeat(64)]
        {
            assert!(refused(check_project(name)).contains("expected at most 63 lowercase"), "{name}");
        }
        for name in
            ["kube", "serde-json", "test", "match", "gen", "k8s-openapi", "tracing-subscriber", "v1", "deps"]
        {
            assert!(refused(check_project(name)).contains("expected another name"), "{name}");
        }
    }

    #[test]
    fn groups_are_domains() {
        for group in ["example.com", "a-b.c2.io"] {
            check_group(group).unwrap();
        }
        for group in ["", "example", "Example.com", "example..com", ".com", "a-.com", "a b.com", "a\".com"] {
            assert!(refused(check_group(group)).contains("expected a domain"), "{group}");
        }
        for group in ["k8s.io", "apps.k8s.io", "x.kubernetes.io"] {
            assert!(refused(check_group(group)).contains("reserves"), "{group}");
        }
    }

    #[test]
    fn versions_have_a_number_and_a_stage() {
        for version in ["v1", "v10", "v1alpha1", "v2beta3"] {
            check_version(version).unwrap();
        }
        for version in ["", "1", "v", "v0", "v1alpha", "valpha1", "v1gamma1", "v1beta0", "V1", "v1.2"] {
            assert!(check_version(version).is_err(), "{version}");
        }
    }
}
