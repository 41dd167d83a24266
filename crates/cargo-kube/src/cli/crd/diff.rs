//! `cargo kube crd diff`.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail};
use cargo_kube::diff::{Breaks, Change, compare, rules};
use cargo_kube::types::Definitions;
use clap::Args;

use crate::cli::output::{count, line};
use crate::cli::{cluster, inputs};

/// What a new definition breaks for stored objects and for clients
#[derive(Debug, Args)]
#[command(
    override_usage = "cargo kube crd diff [OPTIONS] OLD NEW\n       cargo kube crd diff [OPTIONS] --cluster NEW",
    after_help = "Exit codes: 0 nothing is broken, 1 something is, 2 wrong input."
)]
pub(super) struct Diff {
    /// Files or directories with the old and the new definitions, YAML or JSON; - reads standard input
    #[arg(value_name = "PATH", num_args = 1..=2, required_unless_present = "rules")]
    paths: Vec<PathBuf>,

    /// Compare with the definitions of the current cluster, not with OLD
    #[arg(long)]
    cluster: bool,

    /// The context of the kubeconfig for --cluster
    #[arg(long, requires = "cluster", value_name = "NAME")]
    context: Option<String>,

    /// Read the files of subdirectories too
    #[arg(short, long)]
    recursive: bool,

    /// Changes that this rule finds do not count for the exit code; repeatable
    #[arg(long, value_name = "RULE")]
    allow: Vec<String>,

    /// Print the rules: name, whom such a change breaks, why
    #[arg(long, exclusive = true)]
    rules: bool,

    /// Print the changes as JSON
    #[arg(long)]
    json: bool,
}

impl Diff {
    pub(super) fn run(self) -> Result<ExitCode> {
        if self.rules {
            for rule in rules() {
                line(format_args!(
                    "{:<32} {:<27} {}",
                    rule.name(),
                    rule.breaks().to_string(),
                    rule.reason()
                ))?;
            }
            return Ok(ExitCode::SUCCESS);
        }
        if let Some(name) = self.allow.iter().find(|name| rules().all(|rule| rule.name() != **name)) {
            bail!("--allow {name}: expected the name of a rule; --rules prints them");
        }
        let (old, new) = self.definitions()?;
        let changes = compare(&old, &new);
        let is_breaking = |change: &&Change| {
            change.breaks() != Breaks::Nothing && !self.allow.iter().any(|name| name == change.rule())
        };
        let breaking = changes.iter().filter(is_breaking).count();
        if self.json {
            line(format_args!("{}", serde_json::to_string(&changes)?))?;
        } else {
            for change in &changes {
                line(format_args!("{change}"))?;
            }
            let others = count(changes.len() - breaking, "other");
            line(format_args!("{}, {others}", count(breaking, "breaking change")))?;
        }
        Ok(if breaking == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    fn definitions(&self) -> Result<(Definitions, Definitions)> {
        let read = |path| inputs::some_definitions(path, self.recursive);
        match (self.cluster, self.paths.as_slice()) {
            (false, [old, new]) if old.as_os_str() == "-" && new.as_os_str() == "-" => {
                bail!("expected - for OLD or for NEW, found it for both")
            }
            (false, [old, new]) => Ok((read(old)?, read(new)?)),
            (true, [new]) => {
                let new = read(new)?;
                let mut old = cluster::all_definitions(self.context.as_deref())?;
                // The cluster has definitions of others too.
                old.retain(|old| new.iter().any(|new| new.metadata.name == old.metadata.name));
                Ok((old, new))
            }
            (false, _) => bail!("expected OLD and NEW, or --cluster and NEW"),
            (true, _) => bail!("expected NEW alone with --cluster"),
        }
    }
}
