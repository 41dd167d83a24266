//! The job `javascript`: the npm client works with the embedded server, over plain HTTP and TLS.

use std::time::Duration;

use anyhow::Result;

use crate::context::{Context, scratch};
use crate::job::no_arguments;
use crate::kubectl::Server;
use crate::{paths, tools};

pub(crate) fn javascript(cx: &Context, args: &[String]) -> Result<()> {
    no_arguments(args)?;
    let folder = tools::npm_client(cx)?;
    let testserver = cx.build("--bin", "kube-testserver")?;
    let work = scratch()?;
    for (name, flags) in [("http", &[][..]), ("tls", &["--tls"]), ("rbac", &["--tls", "--rbac"])] {
        let server = Server::start(cx, &testserver, work.path(), name, flags)?;
        println!("{name}:");
        let client = cx.command("node").arg(folder.join(paths::NPM_PROGRAM)).arg(&server.kubeconfig);
        client.limit(Duration::from_secs(120)).run()?;
    }
    Ok(())
}
