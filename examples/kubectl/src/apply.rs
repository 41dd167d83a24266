//! `apply` and `delete`: objects of YAML files.

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use futures::StreamExt as _;
use kube::ApiExt;
use kube::api::{DeleteParams, PatchParams};
use kube::wait::WaitFor;
use kube::yaml::{Applier, Objects, Progress, Run};

use crate::Cluster;
use crate::resources::singular;

#[derive(Args)]
struct Files {
    /// A file, a directory, or `-` for standard input.
    #[arg(short, long)]
    filename: Vec<String>,
    /// Subdirectories as well.
    #[arg(short = 'R', long)]
    recursive: bool,
}

impl Files {
    fn read(&self) -> anyhow::Result<Objects> {
        let mut objects = Objects::default();
        for name in &self.filename {
            objects.extend(match name.as_str() {
                "-" => Objects::from_reader("standard input", std::io::stdin())?,
                name if self.recursive => Objects::read_recursive(name)?,
                name => Objects::read(name)?,
            })?;
        }
        Ok(objects)
    }
}

#[derive(Args)]
pub(crate) struct Apply {
    #[command(flatten)]
    files: Files,
    /// Takes fields that other managers own.
    #[arg(long)]
    force_conflicts: bool,
    #[arg(long, default_value = "kubectl")]
    field_manager: String,
    /// Nothing is stored; shows what would change.
    #[arg(long)]
    dry_run: bool,
}

impl Apply {
    pub(crate) async fn run(&self, cluster: &Cluster) -> anyhow::Result<ExitCode> {
        let params = PatchParams {
            force: self.force_conflicts,
            dry_run: self.dry_run,
            ..PatchParams::apply(&self.field_manager)
        };
        Ok(report(applier(cluster).apply(&self.files.read()?, &params)).await)
    }
}

fn applier(cluster: &Cluster) -> Applier {
    Applier::new(cluster.client.clone()).namespace(&cluster.namespace)
}

/// Prints what becomes of each object, as soon as it is known.
async fn report(mut run: Run) -> ExitCode {
    let mut code = ExitCode::SUCCESS;
    while let Some(progress) = run.next().await {
        match progress {
            Progress::Object { result, .. } if result.is_ok() => {
                println!("{result}");
                print!("{}", result.diff().filter(|_| result.dry_run).unwrap_or_default());
            }
            Progress::Object { result, .. } => {
                eprintln!("error: {result}");
                code = ExitCode::FAILURE;
            }
            waiting => eprintln!("{waiting}"),
        }
    }
    code
}

/// For how long a deletion may take.
const GONE_WITHIN: Duration = Duration::from_secs(300);

#[derive(Args)]
pub(crate) struct Delete {
    /// TYPE NAME... or TYPE/NAME...
    #[arg(required_unless_present = "filename")]
    objects: Vec<String>,
    #[command(flatten)]
    files: Files,
}

impl Delete {
    pub(crate) async fn run(&self, cluster: &Cluster) -> anyhow::Result<ExitCode> {
        if self.objects.is_empty() {
            return Ok(
                report(applier(cluster).delete(&self.files.read()?, &DeleteParams::background())).await
            );
        }
        for selected in cluster.select(&self.objects).await? {
            let (name, api) = (selected.name()?, cluster.api(&selected.mapping, false));
            api.delete(name, &DeleteParams::background()).await?;
            println!("{} \"{name}\" deleted", singular(&selected.mapping));
            api.wait_for(name, &WaitFor::Delete, GONE_WITHIN).await?;
        }
        Ok(ExitCode::SUCCESS)
    }
}
