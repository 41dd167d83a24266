//! `cargo kube gen`.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail};
use cargo_kube::types::{Definitions, Error, Generator, Overrides, Split};
use clap::{Args, ValueEnum};
use serde_json::json;

use super::output::{count, print};
use super::{cluster, inputs};

/// Rust types from definitions of custom resources
#[derive(Debug, Args)]
#[command(after_help = "\
Exit codes: 0 done, 1 out of date (--check), 2 wrong input.
The types need the crates kube (feature derive), k8s-openapi, serde and serde_json.")]
pub(super) struct Gen {
    /// Files and directories with definitions, YAML or JSON; - reads standard input
    #[arg(value_name = "PATH")]
    inputs: Vec<PathBuf>,

    /// Read the files of subdirectories too
    #[arg(short, long)]
    recursive: bool,

    /// Read the definitions of the current cluster
    #[arg(long)]
    cluster: bool,

    /// The context of the kubeconfig for --cluster
    #[arg(long, requires = "cluster", value_name = "NAME")]
    context: Option<String>,

    /// Only the definitions of this name (widgets.example.com) or group; repeatable
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,

    /// The directory of the generated module
    #[arg(short, long, value_name = "DIR")]
    out: PathBuf,

    /// What is in one file
    #[arg(long, value_enum, default_value_t = Per::Kind)]
    per: Per,

    /// A YAML file with other types or names for some fields
    #[arg(long, value_name = "FILE")]
    overrides: Option<PathBuf>,

    /// Another derive for all types, such as schemars::JsonSchema; repeatable
    #[arg(long, value_name = "PATH")]
    derive: Vec<String>,

    /// Write nothing; fail if a file would change
    #[arg(long)]
    check: bool,

    /// Print what was generated as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Per {
    Kind,
    Group,
}

impl Gen {
    pub(super) fn run(self) -> Result<ExitCode> {
        let definitions = self.definitions()?;
        let mut generator = Generator::new().split(match self.per {
            Per::Kind => Split::Kind,
            Per::Group => Split::Group,
        });
        if let Some(path) = &self.overrides {
            generator = generator.overrides(Overrides::read(path)?);
        }
        let generator = self.derive.iter().fold(generator, |generator, path| generator.derive(path));
        let files = generator.generate(&definitions)?;
        if self.check {
            match files.check(&self.out) {
                Err(err @ Error::OutOfDate { .. }) => {
                    eprintln!("error: {err}");
                    return Ok(ExitCode::FAILURE);
                }
                result => result?,
            }
        } else {
            files.write(&self.out)?;
        }
        if self.json {
            let kinds = files.kinds().iter();
            let kinds: Vec<_> = kinds
                .map(|kind| json!({ "crd": kind.crd, "version": kind.version, "path": kind.path }))
                .collect();
            let paths: Vec<_> = files.iter().map(|(path, _)| self.out.join(path)).collect();
            let printed = json!({ "kinds": kinds, "types": files.types(), "files": paths });
            print(&format!("{printed}\n"))?;
        } else {
            let definitions = count(definitions.len(), "definition");
            let (versions, types) = (count(files.kinds().len(), "version"), count(files.types(), "type"));
            print(&format!("{definitions}, {versions}, {types}: {}\n", self.out.display()))?;
        }
        Ok(ExitCode::SUCCESS)
    }

    fn definitions(&self) -> Result<Definitions> {
        if self.inputs.is_empty() && !self.cluster {
            bail!("expected a file, a directory, - or --cluster");
        }
        let mut definitions = Definitions::default();
        for input in &self.inputs {
            definitions.extend(inputs::definitions(input, self.recursive)?)?;
        }
        if self.cluster {
            definitions.extend(cluster::all_definitions(self.context.as_deref())?)?;
            if definitions.is_empty() {
                bail!("the cluster: expected a CustomResourceDefinition, found none");
            }
        }
        for name in &self.only {
            if !definitions
                .iter()
                .any(|crd| crd.spec.group == *name || crd.metadata.name.as_ref() == Some(name))
            {
                bail!("--only {name}: expected the name or the group of a definition that was read");
            }
        }
        if !self.only.is_empty() {
            definitions.retain(|crd| {
                self.only
                    .iter()
                    .any(|name| crd.spec.group == *name || crd.metadata.name.as_ref() == Some(name))
            });
        }
        Ok(definitions)
    }
}
