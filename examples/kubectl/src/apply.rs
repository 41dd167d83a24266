//! `apply` and `delete`: objects of YAML files.

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use futures::StreamExt as _;
use kube::api::{DeleteParams, DynamicObject, PatchParams};
use kube::apply_set::ApplySet;
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
    /// Deletes what an earlier run with the same Secret applied and this one does not.
    #[arg(long)]
    applyset: Option<String>,
}

impl Apply {
    pub(crate) async fn run(&self, cluster: &Cluster) -> anyhow::Result<ExitCode> {
        let mut objects = self.files.read()?;
        let params = PatchParams {
            force: self.force_conflicts,
            dry_run: self.dry_run,
            ..PatchParams::apply(&self.field_manager)
        };
        let applier =
            Applier::new(cluster.client.clone()).namespace(&cluster.namespace).mapper(cluster.mapper.clone());
        let Some(name) = &self.applyset else {
            return Ok(report(applier.apply(&objects, &params)).await.0);
        };
        let set = ApplySet::secret(&cluster.namespace, name).dry_run(self.dry_run);
        let mut members = applier.resolve(&objects).await?;
        let applying = set.begin(&cluster.client, &mut members).await?;
        objects = Objects::default();
        members.iter().try_for_each(|(_, object)| objects.add(object))?;
        let (code, applied) = report(applier.apply(&objects, &params)).await;
        if code == ExitCode::SUCCESS {
            applying.finish(&applied).await?.iter().for_each(|pruned| println!("{pruned} pruned"));
        }
        Ok(code)
    }
}

/// Prints what becomes of each object, as soon as it is known.
async fn report(mut run: Run) -> (ExitCode, Vec<DynamicObject>) {
    let (mut code, mut after) = (ExitCode::SUCCESS, Vec::new());
    while let Some(progress) = run.next().await {
        match progress {
            Progress::Object { result, .. } if result.is_ok() => {
                println!("{result}");
                if let Some(diff) = result.diff().filter(|_| result.dry_run) {
                    print!("{diff}");
                }
                after.extend(result.after.map(|object| *object));
            }
            Progress::Object { result, .. } => {
                eprintln!("error: {result}");
                code = ExitCode::FAILURE;
            }
            waiting => eprintln!("{waiting}"),
        }
    }
    (code, after)
}

#[derive(Args)]
pub(crate) struct Delete {
    /// TYPE NAME... or TYPE/NAME...
    #[arg(required_unless_present = "filename")]
    objects: Vec<String>,
    #[command(flatten)]
    files: Files,
    /// For how long to wait until an object is gone.
    #[arg(long, value_parser = crate::duration, default_value = "5m")]
    timeout: Duration,
}

impl Delete {
    pub(crate) async fn run(&self, cluster: &Cluster) -> anyhow::Result<ExitCode> {
        if self.objects.is_empty() {
            let applier =
                Applier::new(cluster.client.clone()).namespace(&cluster.namespace).wait_timeout(self.timeout);
            return Ok(report(applier.delete(&self.files.read()?, &DeleteParams::background())).await.0);
        }
        for selected in cluster.select(&self.objects).await? {
            let (name, api) = (selected.name()?, cluster.api(&selected.mapping, false));
            api.delete(name, &DeleteParams::background()).await?;
            println!("{} \"{name}\" deleted", singular(&selected.mapping));
            api.wait_for(name, &WaitFor::Delete, self.timeout).await?;
        }
        Ok(ExitCode::SUCCESS)
    }
}
