//! `cargo kube new`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use clap::Args;

use super::description::{Clusters, NewKind, Project, Scope};
use super::names::Kind;
use super::source::{KUBE, Source, check_checkout};
use super::templates::{self, TEMPLATES};
use super::{files, names};
use crate::cli::output::line;

/// A new operator, with a kind, its controller, tests, a Dockerfile and CI
#[derive(Debug, Args)]
#[command(after_help = "\
Exit codes: 0 done, 2 wrong input or a folder that exists; then nothing is written.
In the new folder, `cargo run -- --embedded` runs the operator without a cluster.")]
pub(crate) struct New {
    /// The folder, and the name of the operator: lowercase letters, digits and -
    name: String,

    /// The API group of the kind
    #[arg(long, value_name = "DOMAIN", default_value = "example.com")]
    group: String,

    /// The kind that the operator reconciles [default: from NAME, Page for pages and page-operator]
    #[arg(long)]
    kind: Option<Kind>,

    #[command(flatten)]
    version: VersionAndScope,

    /// Also work on other clusters, which come and go while the operator runs
    #[arg(long, value_name = "FROM", value_enum)]
    clusters: Option<Clusters>,

    /// Depend on this checkout of kube, instead of the repository and commit of this program
    #[arg(long, value_name = "DIR")]
    path: Option<PathBuf>,
}

/// What each new kind has.
#[derive(Clone, Debug, Args)]
pub(super) struct VersionAndScope {
    /// The first version of the kind
    #[arg(long, default_value = "v1")]
    version: String,

    /// Objects are in namespaces; the default
    #[arg(long)]
    namespaced: bool,

    /// Objects are in no namespace
    #[arg(long, conflicts_with = "namespaced")]
    cluster: bool,
}

impl VersionAndScope {
    pub(super) fn of(self, kind: Kind) -> NewKind {
        let scope = if self.cluster { Scope::Cluster } else { Scope::Namespaced };
        NewKind { kind, version: self.version, scope }
    }
}

impl New {
    pub(crate) fn run(self) -> Result<ExitCode> {
        names::check_project(&self.name)?;
        let (kind, singular, another) = match self.kind {
            Some(kind) => (kind, None, ""),
            None => {
                let kind = Kind::of_project(&self.name).context("--kind is needed")?;
                (kind, Kind::singular_of_project(&self.name), "; --kind KIND is for another")
            }
        };
        let source = match &self.path {
            Some(path) => checkout(path)?,
            None => Source::of_this_program().context(
                "this program was not built from a git repository: expected --path DIR, with a checkout of kube",
            )?,
        };
        let template = templates::newest(TEMPLATES);
        let mut project = Project {
            name: self.name,
            template: template.number,
            group: self.group,
            source,
            clusters: self.clusters,
            first: self.version.of(kind),
            added: Vec::new(),
        };
        project.check()?;
        let is_free = |kind: &Kind| templates::check_free(template, &project, kind).is_ok();
        match singular.filter(is_free) {
            Some(singular) => project.first.kind = singular,
            None => templates::check_free(template, &project, &project.first.kind)?,
        }
        let texts = template.render(&project)?;
        files::create(Path::new(&project.name), &texts)?;
        let Project { name, group, source, first, .. } = &project;
        let (files, kind, plural) = (texts.len(), &first.kind, first.kind.plural());
        line(format_args!("{name}: {files} files, for the kind {kind} ({plural}.{group}){another}"))?;
        line(format_args!("  {}", source.told()))?;
        if project.clusters.is_some() {
            line(format_args!("  a Secret with a kubeconfig makes a cluster: README.md says how"))?;
        }
        line(format_args!("  cd {name}"))?;
        line(format_args!("  cargo run -- --embedded   # runs the operator without a cluster"))?;
        line(format_args!("  cargo run -- manifests    # writes deploy/"))?;
        Ok(ExitCode::SUCCESS)
    }
}

/// A checkout as the Cargo.toml in a folder below the current one names it.
fn checkout(path: &Path) -> Result<Source> {
    check_checkout(path, KUBE)?;
    let from_project = if path.is_absolute() { path.to_owned() } else { Path::new("..").join(path) };
    match from_project.to_str() {
        Some(text) if !text.contains(['\n', '\r']) => Ok(Source::Path(text.trim_end_matches('/').to_owned())),
        _ => bail!("--path {}: expected a path in UTF-8 and one line", path.display()),
    }
}
