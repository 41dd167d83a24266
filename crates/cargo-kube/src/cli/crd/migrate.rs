//! `cargo kube crd migrate`.

use std::io::{self, IsTerminal as _, Write as _};
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Result;
use cargo_kube::migrate::{Migration, Progress, Summary};
use clap::Args;

use crate::cli::output::{count, line};
use crate::cli::{cluster, runtime};

/// Write stored objects again in the storage version, then remove the others from storedVersions
#[derive(Debug, Args)]
#[command(after_help = "\
Objects are not changed, and other programs may write them meanwhile. A run that was interrupted is started again:
objects that are migrated already cost a request each, and with --state not even that.
storedVersions is changed only if all objects were written and the definition did not change meanwhile.
Exit codes: 0 done, 1 the server refused objects, 2 not finished.")]
pub(super) struct Migrate {
    /// The name of the definition, such as widgets.example.com
    #[arg(value_name = "CRD")]
    crd: String,

    /// Fail unless this is the storage version
    #[arg(long, value_name = "VERSION")]
    to: Option<String>,

    /// At most so many objects per second
    #[arg(long, value_name = "N", default_value = "50")]
    qps: NonZeroU32,

    /// Record in this file how far the run is, and go on from there if it exists
    #[arg(long, value_name = "FILE")]
    state: Option<PathBuf>,

    /// Another context of the kubeconfig
    #[arg(long, value_name = "NAME")]
    context: Option<String>,

    /// Print what was done as JSON
    #[arg(long)]
    json: bool,
}

impl Migrate {
    pub(super) fn run(self) -> Result<ExitCode> {
        let json = self.json;
        let crd = self.crd.clone();
        let mut progress = Line::new();
        let result = runtime::run(self.migrate(&mut progress));
        progress.end();
        let summary = result?;
        summary.refused.iter().for_each(|refused| eprintln!("error: {crd}: {refused}"));
        if json {
            line(format_args!("{}", serde_json::to_string(&summary)?))?;
        } else {
            print(&crd, &summary)?;
        }
        Ok(if summary.is_complete() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    async fn migrate(self, line: &mut Line) -> Result<Summary> {
        let client = cluster::client(self.context.as_deref()).await?;
        let mut migration = Migration::new(client, self.crd).qps(self.qps);
        if let Some(version) = self.to {
            migration = migration.to(version);
        }
        if let Some(path) = self.state {
            migration = migration.state_file(path);
        }
        Ok(migration.run(|progress| line.show(progress)).await?)
    }
}

fn print(crd: &str, summary: &Summary) -> io::Result<()> {
    let Summary { written, unchanged, written_by_others, deleted, refused, storage_version, .. } = summary;
    if summary.was_migrated {
        line(format_args!(
            "{crd}: nothing to do: storedVersions has {storage_version} alone, so all objects are stored in it"
        ))?;
        return Ok(());
    }
    let written = count(*written, "object");
    line(format_args!(
        "{crd}: {written} written in {storage_version}, {unchanged} were already, {written_by_others} written by others, {deleted} deleted, {} refused",
        refused.len(),
    ))?;
    if !summary.is_complete() {
        line(format_args!("storedVersions was not changed"))?;
    } else if !summary.removed_versions.is_empty() {
        line(format_args!("storedVersions no longer has {}", summary.removed_versions.join(", ")))?;
    }
    Ok(())
}

/// The progress, on one line of a terminal; nothing if standard error is none.
#[derive(Debug)]
struct Line {
    is_terminal: bool,
    shown: Option<Instant>,
}

impl Line {
    fn new() -> Self {
        Self { is_terminal: std::io::stderr().is_terminal(), shown: None }
    }

    fn show(&mut self, progress: Progress) {
        let is_due = self.shown.is_none_or(|shown| shown.elapsed() >= Duration::from_millis(100));
        if !self.is_terminal || !is_due {
            return;
        }
        self.shown = Some(Instant::now());
        let total = progress.total.map(|total| format!(" of {total}")).unwrap_or_default();
        // Without a terminal there is nobody to tell.
        let _ = write!(std::io::stderr(), "\r\x1b[K{}{total} objects", progress.visited);
    }

    fn end(&self) {
        if self.shown.is_some() {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}
