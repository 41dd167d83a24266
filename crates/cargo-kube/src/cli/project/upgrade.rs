//! `cargo kube upgrade`.

use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::{Result, bail};
use clap::Args;

use super::description::Project;
use super::files;
use super::merge::{Merged, merge};
use super::source::Source;
use super::templates::{self, Files, TEMPLATES, Template};
use crate::cli::output::line;

/// Merges into the project what this version of cargo kube would write
#[derive(Debug, Args)]
#[command(after_help = "\
A three-way merge: what has changed since the version that wrote the project is brought into your
files. A git dependency on kube moves to the commit of this program.
Exit codes: 0 done or nothing to do; 1 conflicts, which are marked in the files that are named;
2 wrong input, then nothing is written.")]
pub(crate) struct Upgrade {
    /// Also with changes that are not committed
    #[arg(long)]
    allow_dirty: bool,
}

impl Upgrade {
    pub(crate) fn run(self) -> Result<ExitCode> {
        let (root, manifest) = files::find()?;
        let project = Project::parse(&manifest)?;
        let plan = Plan::new(TEMPLATES, &project, Source::of_this_program())?;
        let ours = files::read(&root, plan.base.keys().chain(plan.theirs.keys()))?;
        let Merged { changes, conflicts, left } = plan.merge(&ours);
        for path in &left {
            line(format_args!("left as it is: {path}, which you have removed or changed"))?;
        }
        if changes.is_empty() {
            line(format_args!("up to date: template {}", plan.number))?;
            return Ok(ExitCode::SUCCESS);
        }
        if !self.allow_dirty {
            refuse_uncommitted(&root)?;
        }
        files::write(&root, &changes)?;
        for (path, text) in &changes {
            let what = match text {
                _ if conflicts.contains(path) => continue,
                Some(_) if ours.contains_key(path) => "changed",
                Some(_) => "created",
                None => "removed",
            };
            line(format_args!("{what} {path}"))?;
        }
        for path in &conflicts {
            eprintln!("conflict: {path}: choose between the sides that <<<<<<< and >>>>>>> enclose");
        }
        Ok(if conflicts.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

/// The two sides of an upgrade that are not the user's.
#[derive(Debug)]
struct Plan {
    base: Files,
    theirs: Files,
    /// Of the new template.
    number: i64,
}

impl Plan {
    fn new(templates: &[Template], project: &Project, this: Option<Source>) -> Result<Self> {
        let (old, new) = (templates::find(templates, project)?, templates::newest(templates));
        let mut upgraded = project.clone();
        if let (Source::Git { .. }, Some(this)) = (&project.source, this) {
            upgraded.source = this;
        }
        Ok(Self { base: old.render(project)?, theirs: new.render(&upgraded)?, number: new.number })
    }

    fn merge(&self, ours: &Files) -> Merged {
        merge(&self.base, ours, &self.theirs)
    }
}

/// Conflict markers in work that is not committed could not be undone.
fn refuse_uncommitted(root: &Path) -> Result<()> {
    let status = Command::new("git").args(["status", "--porcelain", "--", "."]).current_dir(root).output();
    // Without git, or outside of a repository, there is nothing to ask.
    let changed = status.is_ok_and(|output| output.status.success() && !output.stdout.is_empty());
    if changed {
        bail!("{}: expected all changes to be committed; or use --allow-dirty", root.display());
    }
    Ok(())
}

#[cfg(test)]
#[path = "upgrade_tests.rs"]
mod tests;
