//! `cargo kube crd check`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use cargo_kube::check::{Checker, Outcome, Verdict};
use cargo_kube::types::Definitions;
use clap::Args;
use futures::TryStreamExt as _;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube_client::api::ListParams;
use kube_client::{Api, Client};
use kube_core::{ApiResource, DynamicObject, GroupVersionKind};

use crate::cli::output::{count as count_of, line};
use crate::cli::{cluster, inputs, runtime};

/// Which stored objects a new definition would refuse
#[derive(Debug, Args)]
#[command(
    override_usage = "cargo kube crd check [OPTIONS] OBJECTS NEW\n       cargo kube crd check [OPTIONS] --cluster NEW",
    after_help = "\
Each object is stored as it is on a server in this process, written back without a change and with another
annotation, and created anew. Conversion webhooks and admission are not called. No cluster is changed.
Exit codes: 0 no object is refused, 1 one is, 2 wrong input."
)]
pub(super) struct Check {
    /// The objects and the new definitions: files or directories, YAML or JSON; - reads standard input
    #[arg(value_name = "PATH", num_args = 1..=2, required = true)]
    paths: Vec<PathBuf>,

    /// Check the objects of the current cluster, not those in OBJECTS
    #[arg(long)]
    cluster: bool,

    /// The context of the kubeconfig for --cluster
    #[arg(long, requires = "cluster", value_name = "NAME")]
    context: Option<String>,

    /// The old definitions, to check that the new ones may replace them (--cluster: those of the cluster)
    #[arg(long, value_name = "PATH", conflicts_with = "cluster")]
    old: Option<PathBuf>,

    /// Read the files of subdirectories too
    #[arg(short, long)]
    recursive: bool,

    /// Exit code 1 also for objects that lose fields, or are accepted only as long as nobody changes their invalid values
    #[arg(long)]
    strict: bool,

    /// Print the objects that are not simply accepted as JSON
    #[arg(long)]
    json: bool,
}

/// What was found.
#[derive(Debug, Default)]
struct Found {
    objects: usize,
    verdicts: Vec<Verdict>,
}

impl Found {
    fn add(&mut self, verdicts: Vec<Verdict>) {
        self.objects += verdicts.len();
        self.verdicts.extend(verdicts.into_iter().filter(|verdict| verdict.outcome != Outcome::Accepted));
    }
}

impl Check {
    pub(super) fn run(self) -> Result<ExitCode> {
        let found = match (self.cluster, self.paths.as_slice()) {
            (false, [objects, new]) => runtime::run(self.check_files(objects, new))?,
            (true, [new]) => runtime::run(self.check_cluster(new))?,
            (false, _) => bail!("expected OBJECTS and NEW, or --cluster and NEW"),
            (true, _) => bail!("expected NEW alone with --cluster"),
        };
        let count = |is: fn(&Outcome) -> bool| found.verdicts.iter().filter(|it| is(&it.outcome)).count();
        let refused = count(Outcome::is_refused);
        if self.json {
            line(format_args!("{}", serde_json::to_string(&found.verdicts)?))?;
        } else {
            for verdict in &found.verdicts {
                line(format_args!("{verdict}"))?;
            }
            let tolerated = count(|outcome| matches!(outcome, Outcome::Tolerated(_)));
            let losing = found.verdicts.iter().filter(|verdict| !verdict.lost.is_empty()).count();
            let (objects, lose) =
                (count_of(found.objects, "object"), if losing == 1 { "loses" } else { "lose" });
            line(format_args!(
                "{objects}: {refused} refused, {tolerated} tolerated, {losing} {lose} fields"
            ))?;
        }
        let failed = if self.strict { found.verdicts.len() } else { refused };
        Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    async fn check_files(&self, path: &Path, new: &Path) -> Result<Found> {
        let new = inputs::some_definitions(new, self.recursive)?;
        let old = match &self.old {
            Some(path) => inputs::some_definitions(path, self.recursive)?,
            None => Definitions::default(),
        };
        let objects = inputs::objects(path, self.recursive)?;
        let mut found = Found::default();
        for crd in new.iter() {
            let checker = checker(crd, &old).await?;
            let own = objects.iter().filter(|object| checker.is_for(object)).cloned();
            found.add(checker.check(own).await?);
        }
        if found.objects == 0 {
            let names: Vec<_> = new.iter().filter_map(|crd| crd.metadata.name.as_deref()).collect();
            let (path, names) = (path.display(), names.join(", "));
            bail!("{path}: expected an object of {names}; found {}", kinds_of(objects.iter()));
        }
        Ok(found)
    }

    async fn check_cluster(&self, new: &Path) -> Result<Found> {
        let new = inputs::some_definitions(new, self.recursive)?;
        let client = cluster::client(self.context.as_deref()).await?;
        let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
        let mut found = Found::default();
        for crd in new.iter() {
            let name = crd.metadata.name.as_deref().unwrap_or_default();
            let Some(old) = definitions.get_opt(name).await.context("the definition on the cluster")? else {
                continue;
            };
            let kind = kind(&old, crd);
            let checker = checker(crd, &Definitions::from_crds([old])?).await?;
            // A page at a time, so that no more is in memory.
            let objects: Api<DynamicObject> = Api::all_with(Client::clone(&client), &kind);
            let mut pages = objects.pages(&ListParams::default());
            while let Some(page) = pages.try_next().await.with_context(|| format!("the objects of {name}"))? {
                found.add(checker.check(page.items).await?);
            }
        }
        Ok(found)
    }
}

/// In words, each kind once.
fn kinds_of<'o>(objects: impl IntoIterator<Item = &'o DynamicObject>) -> String {
    let types = objects.into_iter().filter_map(|object| object.types.as_ref());
    let kinds: BTreeSet<_> = types.map(|types| format!("{} of {}", types.kind, types.api_version)).collect();
    if kinds.is_empty() { "none".to_owned() } else { Vec::from_iter(kinds).join(", ") }
}

async fn checker(new: &CustomResourceDefinition, old: &Definitions) -> Result<Checker> {
    let replaced = old.iter().find(|old| old.metadata.name == new.metadata.name);
    let stored = old.stored_versions(new.metadata.name.as_deref().unwrap_or_default());
    Ok(Checker::new(new, replaced.map(|old| (old, stored))).await?)
}

/// The version in which objects are requested: one that both serve, and if possible the storage version, so that the cluster need not
/// convert.
fn kind(old: &CustomResourceDefinition, new: &CustomResourceDefinition) -> ApiResource {
    let served = || old.spec.versions.iter().filter(|version| version.served);
    let is_kept = |name: &str| new.spec.versions.iter().any(|version| version.served && version.name == name);
    let chosen = served().max_by_key(|version| (is_kept(&version.name), version.storage));
    let version = chosen.map(|version| version.name.as_str()).unwrap_or_default();
    let gvk = GroupVersionKind::gvk(&old.spec.group, version, &old.spec.names.kind);
    ApiResource::from_gvk_with_plural(&gvk, &old.spec.names.plural)
}
