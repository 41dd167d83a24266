//! `cargo kube manifests`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, ValueEnum};

use super::program::{Call, Program, ProgramArgs, build, written};
use super::runtime;

/// The manifests of the project, by the subcommand `manifests` of its program
#[derive(Debug, Args)]
#[command(after_help = "\
Builds the program and runs `PROGRAM manifests [--check] [--form FORM]... [ARGS]... DIR`.
Exit codes: 0 done; 1 a file would change (--check); 2 wrong input, a project that does not build,
a program that failed or has no such subcommand.")]
pub(super) struct Manifests {
    /// The forms, if not those that the program chooses; generated files of other forms are removed
    #[arg(long, value_enum, value_name = "FORM")]
    form: Vec<Form>,

    /// Where the files are written: deploy, in the folder of the package, by default
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// Write nothing; fail if a file would change
    #[arg(long)]
    check: bool,

    #[command(flatten)]
    program: ProgramArgs,

    /// Further arguments for the program, such as --namespace NAME
    #[arg(last = true, value_name = "ARGS")]
    arguments: Vec<OsString>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Form {
    Yaml,
    Kustomize,
    Helm,
}

impl Form {
    fn name(self) -> &'static str {
        match self {
            Self::Yaml => "yaml",
            Self::Kustomize => "kustomize",
            Self::Helm => "helm",
        }
    }
}

impl Manifests {
    pub(super) fn run(self) -> Result<ExitCode> {
        let program = self.program.find()?;
        let folder = self.out.clone().unwrap_or_else(|| program.folder.join("deploy"));
        let mut arguments: Vec<OsString> = Vec::new();
        arguments.extend(self.check.then(|| "--check".into()));
        arguments.extend(self.form.iter().flat_map(|form| ["--form".into(), form.name().into()]));
        arguments.extend(self.arguments);
        arguments.push(Program::shown(&folder).to_string().into());
        runtime::run(async {
            let built = build(&program).await?;
            let call = Call { executable: &built.executable, arguments, shown: true };
            let (status, _) = call.run().await?;
            match status.code() {
                Some(0) => {
                    written(&call, &folder)?;
                    Ok(ExitCode::SUCCESS)
                }
                Some(1) if self.check => Ok(ExitCode::FAILURE),
                _ => call.check(status).map(|()| ExitCode::SUCCESS),
            }
        })
    }
}
