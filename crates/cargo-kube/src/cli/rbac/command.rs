//! The subcommand: what the program needs, and the comparison with a folder.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use clap::Args;
use serde::Deserialize;
use serde_json::Value;

use super::compare::{Part, lines};
use super::files::roles_below;
use super::grants::{Account, Grants};
use crate::cli::output::print;
use crate::cli::program::{Call, Program, ProgramArgs, build, manifests};
use crate::cli::runtime;

/// The permissions that the program of the project needs, and who needs them
#[derive(Debug, Args)]
#[command(after_help = "\
With --check, a line for each rule that the roles of DIR lack (missing) or have beyond what the program
needs (excess). Roles count that are bound to the ServiceAccount of the program, generated or written by
hand; folders with a Helm chart, samples, members (roles on other clusters) and hidden files are left out.
Exit codes: 0 the roles are those that the program needs; 1 a rule is missing or excess (--check);
2 wrong input, a project that does not build, a program without the subcommand `manifests`.")]
pub(crate) struct Rbac {
    /// Compare with the roles in DIR
    #[arg(long)]
    check: bool,

    /// Where the manifests are: deploy, in the folder of the package, by default
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,

    #[command(flatten)]
    program: ProgramArgs,
}

/// What the program says about a part of it.
#[derive(Debug, Deserialize)]
struct Need {
    part: String,
    roles: Vec<Value>,
}

impl Rbac {
    pub(crate) fn run(self) -> Result<ExitCode> {
        let program = self.program.find()?;
        let (generated, parts) = runtime::run(needed(&program))?;
        if !self.check {
            print(&text(lines(&generated.into_grants(), &parts)))?;
            return Ok(ExitCode::SUCCESS);
        }
        let folder = self.folder.unwrap_or_else(|| program.folder.join("deploy"));
        let present = Grants::of(&roles_below(&folder)?, &generated.accounts)
            .with_context(|| Program::shown(&folder).to_string())?;
        let (missing, excess) = (generated.missing_from(&present), present.missing_from(&generated));
        let unknown = present.unknown_roles.iter().filter(|role| !generated.unknown_roles.contains(*role));
        let unknown: Vec<_> =
            unknown.map(|role| format!("excess: all of {role}, which is bound but not there")).collect();
        let missing = lines(&missing, &parts).into_iter().map(|line| format!("missing: {line}"));
        let excess = lines(&excess, &[]).into_iter().map(|line| format!("excess: {line}"));
        let all: Vec<_> = missing.chain(excess).chain(unknown).collect();
        if all.is_empty() {
            print(&format!(
                "{} permits what {} needs, and nothing else\n",
                Program::shown(&folder),
                program.name
            ))?;
            return Ok(ExitCode::SUCCESS);
        }
        print(&text(all))?;
        Ok(ExitCode::FAILURE)
    }
}

fn text(lines: Vec<String>) -> String {
    lines.into_iter().map(|line| line + "\n").collect()
}

/// What the generated roles permit, and which part needs what.
async fn needed(program: &Program) -> Result<(Grants, Vec<Part>)> {
    let built = build(program).await?;
    let folder = tempfile::tempdir()?;
    manifests(&built.executable, folder.path()).await?;
    let objects = roles_below(folder.path())?;
    let accounts = Account::bound_by(&objects);
    let generated = Grants::of(&objects, &accounts)?;
    let call = Call { executable: &built.executable, arguments: vec!["--needs".into()], shown: false };
    let (status, text) = call.run().await?;
    call.check(status)?;
    let needs: Vec<Need> = serde_json::from_str(&text).context("what the program printed for --needs")?;
    let part = |need: Need| {
        let roles: Vec<_> = need.roles.into_iter().collect();
        Ok(Part { name: need.part, grants: Grants::of_all(&roles)? })
    };
    Ok((generated, needs.into_iter().map(part).collect::<Result<_>>()?))
}
