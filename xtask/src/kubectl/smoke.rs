//! The job `kubectl-smoke`: common commands against an embedded server.

use anyhow::Result;

use super::session::{Server, Session};
use crate::context::{Context, scratch};
use crate::job::no_arguments;
use crate::paths;

pub(crate) fn smoke(cx: &Context, args: &[String]) -> Result<()> {
    no_arguments(args)?;
    cx.require(&["kubectl"])?;
    let program = cx.build("--bin", "kube-testserver")?;
    let work = scratch()?;
    let server = Server::start(cx, &program, work.path(), "smoke", &["--without-pods"])?;
    let mut session = Session::new(cx, &server.kubeconfig, &work.path().join("objects"))?;
    for object in std::fs::read_dir(cx.path(paths::COMMANDS).join("smoke"))? {
        let object = object?;
        std::fs::copy(object.path(), work.path().join("objects").join(object.file_name()))?;
    }
    session.run(&cx.read(format!("{}/smoke.commands", paths::COMMANDS))?)?;
    println!("{} checks passed", session.checks);
    Ok(())
}
