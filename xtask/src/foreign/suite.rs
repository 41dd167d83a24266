//! A suite: what it needs, its cases, each on an embedded server of its own, and what their commands have to show.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};

use crate::command::{Command, Output};
use crate::context::{Context, scratch};
use crate::kubectl::Server;
use crate::skip::skip;

/// A row of the table. Without these programs, and the Go modules that the project in the folder `module` requires, the job is skipped.
pub(crate) struct Suite {
    pub(super) programs: &'static [&'static str],
    pub(super) module: Option<&'static str>,
    pub(super) cases: for<'a> fn(&Stage<'a>) -> Result<Vec<Case<'a>>>,
}

/// What cases are made from: the arguments of the job, and a folder for files. The server of a case writes `NAME.kubeconfig` there.
pub(super) struct Stage<'a> {
    pub(super) cx: &'a Context,
    pub(super) work: &'a Path,
    pub(super) args: &'a [String],
}

pub(super) struct Case<'a> {
    pub(super) name: String,
    /// The arguments of the server, or `None` if the case starts the programs of `kube-testserver assets` itself.
    pub(super) server: Option<String>,
    pub(super) steps: Vec<(Command, Seen<'a>)>,
}

/// What a command has to show: an error says what is wrong.
pub(super) type Seen<'a> = Box<dyn Fn(&Output) -> Result<()> + 'a>;

/// Exit code 0, and this text.
pub(super) fn text(part: &'static str) -> Seen<'static> {
    Box::new(move |output| {
        let (code, text) = (output.code, output.text());
        ensure!(code == 0 && text.contains(part), "exit code {code}, expected {part:?}: {text}");
        Ok(())
    })
}

/// Runs all cases, also after one that fails.
pub(crate) fn run(cx: &Context, args: &[String], suite: &Suite) -> Result<()> {
    cx.require(suite.programs)?;
    if let Some(folder) = suite.module
        && !cx.command("go").args(["mod", "download"]).dir(cx.path(folder)).succeeds()
    {
        return skip(format!("the Go modules of {folder} cannot be downloaded"));
    }
    let work = scratch()?;
    let stage = Stage { cx, work: work.path(), args };
    let cases = (suite.cases)(&stage)?;
    let program = cx.build("--bin", "kube-testserver")?;
    let result = |case: &Case<'_>| stage.run(&program, case).with_context(|| case.name.clone());
    let failures: Vec<_> = cases.iter().filter_map(|case| result(case).err()).collect();
    let failures: Vec<_> = failures.iter().map(|failure| format!("{failure:#}")).collect();
    ensure!(failures.is_empty(), "{}", failures.join("\n"));
    Ok(())
}

impl Stage<'_> {
    fn run(&self, program: &Path, case: &Case<'_>) -> Result<()> {
        println!("--- {}", case.name);
        let folder = self.work.join(&case.name);
        std::fs::create_dir_all(&folder)?;
        let args = case.server.as_deref().map(|args| args.split_whitespace().collect::<Vec<_>>());
        let server =
            args.map(|args| Server::start(self.cx, program, self.work, &case.name, &args)).transpose()?;
        if server.is_none() {
            self.cx.command(program).arg("assets").arg(folder.join("assets")).read()?;
        }
        for (command, seen) in &case.steps {
            // kubectl would reuse the discovery of an earlier server on the same port.
            let command = command.clone().env("KUBECACHEDIR", folder.join("kubectl"));
            let command = match &server {
                Some(server) => {
                    command.env("KUBECONFIG", &server.kubeconfig).env("USE_EXISTING_CLUSTER", "true")
                }
                None => command
                    .env("KUBEBUILDER_ASSETS", folder.join("assets"))
                    .env_remove("USE_EXISTING_CLUSTER"),
            };
            let line = command.to_string();
            seen(&command.output()?).context(line)?;
        }
        println!("ok: {} commands", case.steps.len());
        Ok(())
    }
}
