//! Every command that `cargo kube --help` shows, in its shortest form, in the project that the shortest form of the first one writes.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};

use super::project::{Project, Scaffold};
use super::verify;
use crate::command::pause;
use crate::kubectl::Server;

/// How long the operator of `dev` may take to build and start.
const STARTED: Duration = Duration::from_secs(300);

/// With what each needs: `deploy` from `manifests`.
const SHORTEST: [&str; 20] = [
    "upgrade --allow-dirty",
    "manifests",
    "manifests --check",
    "rbac",
    "rbac --check",
    "gen deploy/install.yaml --out generated",
    "gen deploy/install.yaml --out generated --check",
    "crd diff deploy/install.yaml deploy/install.yaml",
    "crd check deploy/samples deploy/install.yaml",
    "crd migrate pages.example.com",
    "add webhook Page",
    "add kind Author",
    "add version Page v2",
    "manifests",
    "rbac --check",
    "upgrade --allow-dirty",
    "completions bash",
    "verify",
    "verify init",
    "dev",
];

/// In the project of `new pages`.
pub(super) fn forms(scaffold: &Scaffold<'_>, project: &Project) -> Result<()> {
    println!("--- the shortest form of each command");
    all_are_known(scaffold)?;
    let folder = &*project.folder;
    let program = scaffold.cx.build("--bin", "kube-testserver")?;
    let server = Server::start(scaffold.cx, &program, scaffold.folder, "forms", &["--without-pods"])?;
    let kubectl = |args: &str| {
        let command = scaffold.cx.command("kubectl").args(args.split_whitespace()).dir(folder);
        command.env("KUBECONFIG", &server.kubeconfig)
    };
    for command in SHORTEST {
        println!("$ cargo kube {command}");
        match command {
            "dev" => dev(scaffold, folder)?,
            "crd migrate pages.example.com" => {
                let command = scaffold.kube(folder, command).env("KUBECONFIG", &server.kubeconfig);
                command.run()?;
            }
            "manifests" => {
                run(scaffold, folder, command)?;
                kubectl("apply --server-side -f deploy/install.yaml").run()?;
            }
            "verify" => verify::verify(scaffold, folder)?,
            "verify init" => verify::init(scaffold, folder)?,
            _ => run(scaffold, folder, command)?,
        }
    }
    Ok(())
}

fn run(scaffold: &Scaffold<'_>, folder: &Path, command: &str) -> Result<()> {
    let output = scaffold.kube(folder, command).env("CARGO_TARGET_DIR", scaffold.cx.projects()).output()?;
    ensure!(output.code == 0, "cargo kube {command}: exit code {}: {}", output.code, output.text());
    Ok(())
}

/// The commands that `--help` shows are those that are run here and by the other steps.
fn all_are_known(scaffold: &Scaffold<'_>) -> Result<()> {
    let mut shown = BTreeSet::new();
    for command in commands(scaffold, "")? {
        if ["add", "crd", "verify"].contains(&&*command) {
            shown.extend(commands(scaffold, &command)?.into_iter().map(|of| format!("{command} {of}")));
        }
        // These two do nothing alone.
        if !["add", "crd"].contains(&&*command) {
            shown.insert(command);
        }
    }
    let is_run =
        |command: &String| command == "new" || SHORTEST.iter().any(|run| run.starts_with(&**command));
    let not_run: Vec<_> = shown.into_iter().filter(|command| !is_run(command)).collect();
    ensure!(
        not_run.is_empty(),
        "say in xtask/src/scaffold/forms.rs how these are run: {}",
        not_run.join(", ")
    );
    Ok(())
}

/// The subcommands in a help text.
fn commands(scaffold: &Scaffold<'_>, command: &str) -> Result<Vec<String>> {
    let help = scaffold.kube(scaffold.folder, &format!("{command} --help")).read()?;
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let names = lines.take_while(|line| !line.is_empty()).filter_map(|line| line.split_whitespace().next());
    Ok(names.map(str::to_owned).collect())
}

/// `dev` starts the operator, says nothing that is deprecated, and ends at a signal.
fn dev(scaffold: &Scaffold<'_>, folder: &Path) -> Result<()> {
    let log = scaffold.folder.join("dev.log");
    let command = scaffold.kube(folder, "dev -- --metrics 127.0.0.1:18980 --webhooks 127.0.0.1:18943");
    let running = command.env("CARGO_TARGET_DIR", scaffold.cx.projects()).spawn(&log, &log)?;
    let end = Instant::now() + STARTED;
    let page = "its debug page: http://127.0.0.1:18980/debug/controllers";
    let text = loop {
        let text = std::fs::read_to_string(&log)?;
        if ["sample ", "reconciled", page].iter().all(|part| text.contains(part)) {
            break text;
        }
        if running.has_ended() || Instant::now() > end {
            bail!("cargo kube dev did not reconcile the samples:\n{text}");
        }
        pause(Duration::from_millis(50))?;
    };
    ensure!(!text.contains("deprecated"), "{text}");
    ensure!(
        running.stop(Duration::from_secs(60))? == 0,
        "{}",
        std::fs::read_to_string(&log).context("its log")?
    );
    Ok(())
}
