//! A project that `cargo kube new` writes, and what its own CI and its program do.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

use crate::command::{Command, pause};
use crate::context::Context;

/// A plan of `tests/verify.rs` in every project.
pub(super) const PLAN: &str = "restart after step 1";

/// How long the operator may take until it has reconciled its samples.
const STEP: Duration = Duration::from_secs(30);

/// `cargo kube`, and the folder where it writes projects.
pub(super) struct Scaffold<'a> {
    pub(super) cx: &'a Context,
    pub(super) program: PathBuf,
    pub(super) folder: &'a Path,
}

/// A project: its name, its folder, and its program once it is built.
pub(super) struct Project {
    pub(super) folder: PathBuf,
    pub(super) program: PathBuf,
}

impl Project {
    pub(super) fn deploy(&self) -> PathBuf {
        self.folder.join("deploy")
    }
}

impl Scaffold<'_> {
    pub(super) fn kube(&self, folder: &Path, args: &str) -> Command {
        self.cx.command(&self.program).arg("kube").args(args.split_whitespace()).dir(folder)
    }

    /// A new project, with the versions of dependencies that this workspace is tested with.
    pub(super) fn create(&self, name: &str, options: &str) -> Result<Project> {
        self.kube(self.folder, &format!("new {name} {options}")).run()?;
        let folder = self.folder.join(name);
        std::fs::copy(self.cx.path("Cargo.lock"), folder.join("Cargo.lock"))?;
        Ok(Project { folder, program: self.cx.projects().join("debug").join(name) })
    }

    /// A program in a project: without a network, and in the target folder of all projects.
    pub(super) fn command(&self, folder: &Path, program: &str) -> Command {
        let command = self.cx.command(program).dir(folder).env("CARGO_NET_OFFLINE", "true");
        command.env("CARGO_TARGET_DIR", self.cx.projects())
    }

    /// The commands of the workflow that was written, with the manifests written before.
    pub(super) fn ci(&self, project: &Project) -> Result<()> {
        let project = &*project.folder;
        // Leaves out what the project does not use.
        self.command(project, "cargo").args(["metadata", "--quiet", "--format-version=1"]).read()?;
        self.command(project, "cargo").args(["run", "--quiet", "--", "manifests"]).run()?;
        let workflow = std::fs::read_to_string(project.join(".github/workflows/ci.yml"))?;
        let workflow: Value = serde_saphyr::from_str(&workflow)?;
        let steps = workflow["jobs"]["ci"]["steps"].as_array().context("the workflow has no steps")?;
        let commands: Vec<_> = steps.iter().filter_map(|step| step["run"].as_str()).collect();
        ensure!(commands.len() == 4, "expected 4 commands: {commands:?}");
        for command in commands {
            // The whole test of verify runs once, in `names`.
            self.command(project, "sh").args(["-c", command]).env("KUBE_VERIFY_PLAN", PLAN).run()?;
        }
        Ok(())
    }

    /// `--embedded` reconciles these samples without a cluster, and ends at SIGTERM.
    pub(super) fn embedded(&self, project: &Project, samples: &[&str]) -> Result<()> {
        let log = self.folder.join("embedded.log");
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let command = self.cx.command(&project.program).dir(&project.folder).args([
            "--embedded",
            "--metrics",
            "127.0.0.1:0",
        ]);
        let running = command.args(["--webhooks", &format!("127.0.0.1:{port}")]).spawn(&log, &log)?;
        let end = Instant::now() + STEP;
        let is_reconciled = |text: &str, sample: &&str| {
            text.lines().any(|line| line.contains("reconciled") && line.contains(*sample))
        };
        loop {
            let text = std::fs::read_to_string(&log)?;
            if samples.iter().all(|sample| is_reconciled(&text, sample)) {
                break;
            }
            if running.has_ended() || Instant::now() > end {
                bail!("--embedded did not reconcile {}:\n{text}", samples.join(" and "));
            }
            pause(Duration::from_millis(20))?;
        }
        ensure!(running.stop(STEP)? == 0, "{}", std::fs::read_to_string(&log)?);
        let text = std::fs::read_to_string(&log)?;
        ensure!(!text.contains("deprecated"), "it uses what is deprecated:\n{text}");
        println!("--embedded reconciles {}", samples.join(" and "));
        Ok(())
    }
}
