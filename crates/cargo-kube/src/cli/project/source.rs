//! [`Source`]: where a project gets `kube` from, in its Cargo.toml, Dockerfile and CI.

use std::path::{Component, Path, PathBuf};

use anyhow::{Result, bail};
use toml_edit::{Item, Value};

/// Where the crates of this workspace are: they are not in a registry under these names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cli) enum Source {
    /// A commit of a repository.
    Git { url: String, commit: String },
    /// A checkout, as the Cargo.toml of the project names it.
    Path(String),
}

/// The folders of the crates in a checkout.
pub(super) const KUBE: &str = "crates/kube";
pub(in crate::cli) const TESTSERVER: &str = "testserver/server";
pub(in crate::cli) const VERIFY: &str = "testserver/verify";

impl Source {
    /// The commit that this program was built from. None if it was not built from a repository.
    pub(in crate::cli) fn of_this_program() -> Option<Self> {
        let url = option_env!("CARGO_KUBE_GIT_URL").filter(|url| !url.is_empty())?;
        let commit = option_env!("CARGO_KUBE_GIT_COMMIT").filter(|commit| !commit.is_empty())?;
        Some(Self::Git { url: cargo_url(url), commit: commit.to_owned() })
    }

    /// That of a dependency on `kube` in a Cargo.toml. None if it is neither a commit nor a checkout.
    pub(in crate::cli) fn of_dependency(kube: &Item) -> Option<Self> {
        let text = |key: &str| kube.get(key).and_then(Item::as_str);
        match (text("git"), text("rev"), text("path")) {
            (Some(url), Some(commit), None) => Some(Self::Git { url: url.into(), commit: commit.into() }),
            (None, None, Some(path)) => {
                Some(Self::Path(path.strip_suffix(KUBE)?.trim_end_matches('/').to_owned()))
            }
            _ => None,
        }
    }

    /// The keys of a dependency on the crate in this folder of the workspace.
    pub(in crate::cli) fn dependency(&self, folder: &str) -> String {
        let quoted = |text: &str| Value::from(text).to_string();
        match self {
            Self::Git { url, commit } => format!("git = {}, rev = {}", quoted(url), quoted(commit)),
            Self::Path(path) => format!("path = {}", quoted(&format!("{path}/{folder}"))),
        }
    }

    /// What a project with it depends on, for its author.
    pub(super) fn told(&self) -> String {
        match (self, self.local()) {
            (Self::Git { url, commit }, None) => {
                format!("kube is commit {} of {url}", commit.get(..12).unwrap_or(commit))
            }
            (Self::Git { url, .. }, Some(_)) => format!(
                "kube is a commit of {url}: it builds on this machine only; its CI and its image need that folder"
            ),
            (Self::Path(path), _) => {
                let seen = if Path::new(path).is_absolute() { "" } else { " (from its folder)" };
                format!(
                    "kube is the checkout {path}{seen}: its CI needs one as well, see .github/workflows/ci.yml"
                )
            }
        }
    }

    /// The folder of a checkout on this machine, which neither an image nor a CI runner has by itself.
    pub(super) fn local(&self) -> Option<&str> {
        match self {
            Self::Git { url, .. } => url.strip_prefix("file://"),
            Self::Path(path) => Some(path),
        }
    }

    /// Where an image needs the checkout, with the project in `folder`.
    pub(super) fn in_image(&self, folder: &str) -> Option<String> {
        let path = Path::new(folder).join(self.local()?);
        Some(normalize(&path).to_string_lossy().into_owned())
    }
}

/// Without `.` and `..`; above the root is the root.
fn normalize(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(normal.pop()),
            Component::CurDir => {}
            part => normal.push(part),
        }
    }
    normal
}

/// The address of a git remote as Cargo reads it: always a URL.
fn cargo_url(remote: &str) -> String {
    if remote.contains("://") {
        return remote.to_owned();
    }
    match remote.split_once(':') {
        // user@host:path, as OpenSSH has it.
        Some((host, path)) if !host.contains('/') => {
            format!("ssh://{host}/{}", path.trim_start_matches('/'))
        }
        _ => format!("file://{remote}"),
    }
}

/// An error unless `path`, the value of `--path`, is a checkout with this package.
pub(in crate::cli) fn check_checkout(path: &Path, package: &str) -> Result<()> {
    let has_package = |folder: &Path| folder.join(package).join("Cargo.toml").is_file();
    if has_package(path) {
        return Ok(());
    }
    let shown = path.display();
    let above = path.ancestors().skip(1).map(|above| match above.as_os_str().is_empty() {
        true => Path::new("."),
        false => above,
    });
    let above = above.into_iter().find(|above| has_package(above));
    match above {
        Some(above) => bail!("--path {shown}: expected a checkout of kube; {} is one", above.display()),
        None => bail!("--path {shown}: expected a checkout of kube, with {package}/Cargo.toml"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remotes_become_urls() {
        for (remote, url) in [
            ("https://example.com/kube.git", "https://example.com/kube.git"),
            ("git@example.com:team/kube.git", "ssh://git@example.com/team/kube.git"),
            ("/srv/kube", "file:///srv/kube"),
        ] {
            assert_eq!(cargo_url(remote), url);
        }
    }

    #[test]
    fn what_builds_on_one_machine_only_is_told() {
        let git = |url: &str| Source::Git { url: url.into(), commit: "0123456789abcdef".into() };
        assert_eq!(git("https://a.b/kube").told(), "kube is commit 0123456789ab of https://a.b/kube");
        let local = git("file:///srv/kube").told();
        assert!(
            local.starts_with("kube is a commit of file:///srv/kube: it builds on this machine only"),
            "{local}"
        );
        let checkout = |path: &str| Source::Path(path.into()).told();
        assert!(checkout("/srv/kube").contains("the checkout /srv/kube: its CI needs one"));
        assert!(checkout("../kube").contains("the checkout ../kube (from its folder): its CI needs one"));
    }

    #[test]
    fn a_folder_in_a_checkout_names_the_checkout() {
        let home = tempfile::tempdir().unwrap();
        let package = home.path().join(KUBE);
        std::fs::create_dir_all(&package).unwrap();
        std::fs::write(package.join("Cargo.toml"), "").unwrap();
        check_checkout(home.path(), KUBE).unwrap();
        let error = check_checkout(&package, KUBE).unwrap_err().to_string();
        assert!(
            error.ends_with(&format!("expected a checkout of kube; {} is one", home.path().display())),
            "{error}"
        );
        let error = check_checkout(&package, VERIFY).unwrap_err().to_string();
        assert!(error.ends_with("expected a checkout of kube, with testserver/verify/Cargo.toml"), "{error}");
    }

    #[test]
    fn a_dependency_is_written_and_read() {
        let git = Source::Git { url: "https://example.com/kube".into(), commit: "abc".into() };
        for (source, local) in [
            (git, None),
            (Source::Git { url: "file:///srv/kube".into(), commit: "abc".into() }, Some("/srv/kube")),
            (Source::Path("../a \"b\"".into()), Some("/src/a \"b\"")),
            (Source::Path("../../../kube".into()), Some("/kube")),
            (Source::Path("/work/kube".into()), Some("/work/kube")),
        ] {
            let text = format!("kube = {{ {} }}", source.dependency(KUBE));
            let document: toml_edit::DocumentMut = text.parse().unwrap();
            assert_eq!(Source::of_dependency(&document["kube"]), Some(source.clone()));
            assert_eq!(source.in_image("/src/pages").as_deref(), local);
        }
        let registry: toml_edit::DocumentMut = "kube = \"5\"".parse().unwrap();
        assert_eq!(Source::of_dependency(&registry["kube"]), None);
    }
}
