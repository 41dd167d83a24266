//! The job `new`: an operator that `cargo kube new` writes passes its own CI and runs, also after everything was added to it; its image gets
//! what Cargo needs; and an upgrade keeps what the user has changed.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

use crate::command::{Command, pause};
use crate::context::{Context, scratch};
use crate::job::no_arguments;

/// How long the operator may take until it has reconciled its samples.
const STEP: Duration = Duration::from_secs(30);

pub(crate) fn new(cx: &Context, args: &[String]) -> Result<()> {
    no_arguments(args)?;
    cx.cargo("build --quiet --locked -p cargo-kube --bin cargo-kube").run()?;
    let work = scratch()?;
    let scaffold = Scaffold { cx, program: cx.target.join("debug/cargo-kube"), folder: work.path() };
    scaffold.whole_life()?;
    scaffold.image()?;
    if cx.command("git").args(["ls-files", "--error-unmatch", "Cargo.toml"]).succeeds() {
        scaffold.upgrade()?;
    } else {
        println!("--- upgrade: left out, this is not a git checkout");
    }
    Ok(())
}

struct Scaffold<'a> {
    cx: &'a Context,
    program: PathBuf,
    folder: &'a Path,
}

impl Scaffold<'_> {
    fn kube(&self, folder: &Path, args: &str) -> Command {
        self.cx.command(&self.program).arg("kube").args(args.split_whitespace()).dir(folder)
    }

    /// A new project, with the versions of dependencies that this workspace is tested with.
    fn create(&self, name: &str, options: &str) -> Result<PathBuf> {
        self.kube(self.folder, &format!("new {name} {options}")).run()?;
        let project = self.folder.join(name);
        std::fs::copy(self.cx.path("Cargo.lock"), project.join("Cargo.lock"))?;
        Ok(project)
    }

    /// A program in a project: without a network, and in the target folder of this workspace, which has most of the dependencies.
    fn command(&self, project: &Path, program: &str) -> Command {
        let command = self.cx.command(program).dir(project).env("CARGO_NET_OFFLINE", "true");
        command.env("CARGO_TARGET_DIR", &self.cx.target)
    }

    fn whole_life(&self) -> Result<()> {
        println!("--- a new project");
        let root = self.cx.root.display();
        let project = self.create("page-operator", &format!("--kind Page --path {root}"))?;
        self.ci(&project)?;
        self.embedded(&project, &["page-sample"])?;

        println!("--- everything added");
        self.kube(&project, "add kind Author --cluster --version v1beta1").run()?;
        self.kube(&project, "add webhook Page --validate --mutate").run()?;
        self.kube(&project, "add webhook Author").run()?;
        self.kube(&project, "add version Page v2").run()?;
        self.kube(&project, "add version Page v3").run()?;
        self.ci(&project)?;
        self.embedded(&project, &["page-sample", "author-sample"])?;
        let install = std::fs::read_to_string(project.join("deploy/install.yaml"))?;
        for expected in ["strategy: Webhook", "path: /convert", "name: mutate.", "name: validate."] {
            ensure!(install.contains(expected), "deploy/install.yaml lacks {expected:?}");
        }
        let upgrade = self.kube(&project, "upgrade").output()?;
        let text = upgrade.text();
        ensure!(upgrade.code == 0 && text.starts_with("up to date"), "{text}");
        Ok(())
    }

    /// The commands of the workflow that was written, with the manifests written before.
    fn ci(&self, project: &Path) -> Result<()> {
        // Leaves out what the project does not use.
        self.command(project, "cargo").args(["metadata", "--quiet", "--format-version=1"]).read()?;
        self.command(project, "cargo").args(["run", "--quiet", "--", "manifests"]).run()?;
        let workflow = std::fs::read_to_string(project.join(".github/workflows/ci.yml"))?;
        let workflow: Value = serde_saphyr::from_str(&workflow)?;
        let steps = workflow["jobs"]["ci"]["steps"].as_array().context("the workflow has no steps")?;
        let commands: Vec<_> = steps.iter().filter_map(|step| step["run"].as_str()).collect();
        ensure!(commands.len() == 4, "expected 4 commands: {commands:?}");
        for command in commands {
            self.command(project, "sh").args(["-c", command]).run()?;
        }
        Ok(())
    }

    /// `--embedded` reconciles these samples without a cluster, and ends at SIGTERM.
    fn embedded(&self, project: &Path, samples: &[&str]) -> Result<()> {
        let program = self.cx.target.join("debug/page-operator");
        let log = self.folder.join("embedded.log");
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let command = self.cx.command(program).dir(project).args(["--embedded", "--metrics", "127.0.0.1:0"]);
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
        println!("--embedded reconciles {}", samples.join(" and "));
        Ok(())
    }

    /// What the Dockerfile copies is all that Cargo needs.
    fn image(&self) -> Result<()> {
        println!("--- the image");
        let checkout = self.folder.join("kube");
        std::os::unix::fs::symlink(&self.cx.root, &checkout)?;
        let project =
            self.create("site", "--cluster --version v1alpha1 --group sites.example.com --path kube")?;
        let image = self.folder.join("image");
        let dockerfile = std::fs::read_to_string(project.join("Dockerfile"))?;
        let copies = dockerfile.lines().filter_map(|line| line.strip_prefix("COPY --from=kube "));
        let copies = copies.map(serde_json::from_str::<[String; 2]>).collect::<Result<Vec<_>, _>>()?;
        ensure!(copies.len() == 3, "expected three folders and files: {copies:?}");
        for [from, to] in copies {
            let to = image.join(to.trim_start_matches('/'));
            std::fs::create_dir_all(to.parent().context("a folder")?)?;
            if checkout.join(&from).is_file() {
                std::fs::create_dir_all(&to)?;
            }
            self.cx.command("cp").arg("-r").arg(checkout.join(&from)).arg(&to).run()?;
        }
        let inside = image.join("src/site");
        std::fs::create_dir_all(inside.parent().context("a folder")?)?;
        self.cx.command("cp").arg("-r").arg(&project).arg(&inside).run()?;
        let metadata = self.command(&inside, "cargo").args(["metadata", "--quiet", "--format-version=1"]);
        let metadata: Value = serde_json::from_str(&metadata.read()?)?;
        let packages = metadata["packages"].as_array().context("no packages")?;
        let kube = packages.iter().find(|package| package["name"] == "kube").context("no kube")?;
        let path = kube["manifest_path"].as_str().unwrap_or_default();
        ensure!(path.contains("image/src/kube/crates/kube"), "kube is at {path}");
        println!("the image has kube at {path}");
        Ok(())
    }

    /// A project of an older commit, changed by its user.
    fn upgrade(&self) -> Result<()> {
        println!("--- an upgrade");
        let project = self.create("old", "--kind Page")?;
        let manifest = project.join("Cargo.toml");
        let current = std::fs::read_to_string(&manifest)?;
        let commit = current.split("rev = \"").nth(1).and_then(|rest| rest.split('"').next());
        let commit = commit.context("Cargo.toml names no commit")?;
        let mine = "serde_json = \"1\"\nregex = \"1\"\n";
        let old = current.replace(commit, "0000000").replace("serde_json = \"1\"\n", mine);
        std::fs::write(&manifest, &old)?;
        let git = |args: &str| self.cx.command("git").args(args.split_whitespace()).dir(&project);
        git("init --quiet").run()?;
        let refused = self.kube(&project, "upgrade").output()?;
        ensure!(refused.code == 2 && refused.text().contains("--allow-dirty"), "{}", refused.text());
        git("add -A").run()?;
        git("-c user.name=ci -c user.email=ci@localhost commit --quiet -m old").run()?;
        self.kube(&project, "upgrade").run()?;
        let expected = current.replace("serde_json = \"1\"\n", mine);
        ensure!(std::fs::read_to_string(&manifest)? == expected, "Cargo.toml is not merged");

        std::fs::write(&manifest, old.replace("\"operator\"]", "\"operator\", \"ws\"]"))?;
        let conflict = self.kube(&project, "upgrade --allow-dirty").output()?;
        let text = conflict.text();
        ensure!(conflict.code == 1 && text.contains("conflict: Cargo.toml"), "{}: {text}", conflict.code);
        ensure!(std::fs::read_to_string(&manifest)?.contains("<<<<<<< ours\n"), "Cargo.toml has no markers");
        println!("an upgrade keeps the user's changes, and marks a conflict");
        Ok(())
    }
}
