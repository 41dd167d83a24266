//! What every job receives: the folders of the checkout, and commands that run as if they were typed there.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use cargo_metadata::{Metadata, MetadataCommand};

use crate::command::Command;
use crate::skip::skip;

/// Set for a job whose programs the job `build` of the same run has built: it need not ask Cargo, which may be busy for minutes.
pub(crate) const BUILT: &str = "XTASK_PROGRAMS_ARE_BUILT";

pub(crate) struct Context {
    /// The top of the checkout.
    pub(crate) root: PathBuf,
    /// Cargo's target folder.
    pub(crate) target: PathBuf,
    /// Variables that `cargo run` sets for this program, and that programs of jobs must not see.
    leaked: Vec<OsString>,
}

impl Context {
    pub(crate) fn new() -> Result<Self> {
        // At run time, because checkouts may share a target folder; a test that runs this program has another folder in the variable.
        let manifest =
            std::env::var_os("CARGO_MANIFEST_DIR").filter(|path| Path::new(path).ends_with("xtask"));
        let manifest = manifest.unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
        let root = Path::new(&manifest).parent().context("xtask/ is not in the checkout")?.to_owned();
        let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
        let target = std::path::absolute(&target).with_context(|| target.display().to_string())?;
        let leaked = std::env::vars_os().map(|(name, _)| name).filter(|name| is_leaked(name)).collect();
        Ok(Self { root, target, leaked })
    }

    /// A program, run at the top of the checkout.
    pub(crate) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        self.leaked.iter().fold(Command::new(program, &self.root), Command::env_remove)
    }

    /// `cargo` with arguments separated by spaces.
    pub(crate) fn cargo(&self, args: &str) -> Command {
        self.command("cargo").args(args.split_whitespace())
    }

    pub(crate) fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        self.root.join(path)
    }

    pub(crate) fn exists(&self, path: impl AsRef<Path>) -> bool {
        self.path(path).exists()
    }

    pub(crate) fn read(&self, path: impl AsRef<Path>) -> Result<String> {
        let path = path.as_ref();
        std::fs::read_to_string(self.path(path)).with_context(|| format!("cannot read {}", path.display()))
    }

    /// What every job selects that compiles the whole workspace, so that one build serves all of them: with OpenSSL beside rustls where its
    /// headers are.
    pub(crate) fn workspace(&self) -> &'static str {
        if self.has_openssl() { "--workspace --features e2e/openssl" } else { "--workspace" }
    }

    /// The path of a program that a debug build makes. Every dependency is the one that the job `build` has built: with the features of the
    /// whole workspace and, because an example is among the targets, of the dependencies of tests.
    pub(crate) fn build(&self, what: &str, name: &str) -> Result<PathBuf> {
        let folder = if what == "--example" { "debug/examples" } else { "debug" };
        let program = self.target.join(folder).join(name);
        if std::env::var_os(BUILT).is_none() || !program.is_file() {
            let build = format!("build --quiet --locked {} --example measure", self.workspace());
            self.cargo(&build).args([what, name]).run()?;
        }
        Ok(program)
    }

    /// The target folder of projects outside of the workspace, which have most of their dependencies in common.
    pub(crate) fn projects(&self) -> PathBuf {
        self.target.join("projects")
    }

    /// Whether a program is installed.
    pub(crate) fn has(&self, program: &str) -> bool {
        let paths = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&paths).any(|folder| folder.join(program).is_file())
    }

    /// Skips the job where one of these programs is missing.
    pub(crate) fn require(&self, programs: &[&str]) -> Result<()> {
        match programs.iter().find(|program| !self.has(program)) {
            Some(program) => {
                skip(format!("{program} is not installed (`cargo xtask setup` installs what it can)"))
            }
            None => Ok(()),
        }
    }

    pub(crate) fn has_openssl(&self) -> bool {
        self.has("pkg-config") && self.command("pkg-config").args(["--exists", "openssl"]).succeeds()
    }

    pub(crate) fn metadata(&self, dependencies: bool) -> Result<Metadata> {
        let mut command = MetadataCommand::new();
        command.current_dir(&self.root).other_options(vec!["--locked".to_owned()]);
        if !dependencies {
            command.no_deps();
        }
        Ok(command.exec()?)
    }
}

/// A folder for the files of one job, removed at its end.
pub(crate) fn scratch() -> Result<tempfile::TempDir> {
    tempfile::tempdir().context("cannot create a temporary folder")
}

fn is_leaked(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    // `.cargo/config.toml` sets the last one again for every cargo that runs in the checkout.
    matches!(&*name, "CARGO" | "CARGO_MANIFEST_DIR" | "CARGO_MANIFEST_PATH" | "K8S_OPENAPI_ENABLED_VERSION")
        || name.starts_with("CARGO_PKG_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_of_the_user_reach_the_programs_of_jobs() {
        assert!(is_leaked(OsStr::new("CARGO_PKG_NAME")));
        assert!(!is_leaked(OsStr::new("CARGO_TARGET_DIR")));
        assert!(!is_leaked(OsStr::new("CARGO_INCREMENTAL")));
    }
}
