//! The job `foreign-pods`: kubectl and the PyPI client `kubernetes` against pods of an embedded server.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};

use super::session::{Server, Session};
use crate::command::pause;
use crate::context::{Context, scratch};
use crate::job::no_arguments;
use crate::pattern::regex;
use crate::{paths, tools};

pub(crate) fn pods(cx: &Context, args: &[String]) -> Result<()> {
    no_arguments(args)?;
    cx.require(&["kubectl", "curl"])?;
    let program = cx.build("--bin", "kube-testserver")?;
    let work = scratch()?;
    let server = Server::start(cx, &program, work.path(), "kubectl", &["--tls"])?;
    let folder = work.path().join("session");
    let mut session = Session::new(cx, &server.kubeconfig, &folder)?;
    std::fs::create_dir_all(folder.join("tree/deep"))?;
    std::fs::write(folder.join("tree/a"), "one\n")?;
    std::fs::write(folder.join("tree/deep/b"), "two\n")?;
    session.run(&cx.read(format!("{}/pods.commands", paths::COMMANDS))?)?;
    for file in ["a", "deep/b"] {
        let copied = std::fs::read(folder.join("copy").join(file))?;
        ensure!(copied == std::fs::read(folder.join("tree").join(file))?, "kubectl cp changed {file}");
    }
    let forwarded = forward_ports(cx, &program, work.path(), &server.kubeconfig)?;
    println!("{} checks of kubectl passed", session.checks + forwarded);

    let python = tools::python_client(cx).context("the checks of kubectl passed")?;
    let server = Server::start(cx, &program, work.path(), "pypi", &[])?;
    let client = cx.command(python).arg(paths::PYPI_CLIENT).arg(&server.kubeconfig);
    let output = client.limit(Duration::from_secs(120)).output()?;
    ensure!(output.code == 0, "the PyPI client: {}", output.text());
    println!(
        "{} checks of the PyPI client passed",
        output.text().lines().filter(|line| line.starts_with("ok")).count()
    );
    Ok(())
}

/// A pod port that forwards to a real listener, the port of another API server: three requests over each protocol.
fn forward_ports(cx: &Context, program: &Path, work: &Path, other: &Path) -> Result<usize> {
    let config = std::fs::read_to_string(other)?;
    let port =
        regex(r"server: https?://[^:]+:(\d+)").captures(&config).context("no server in the kubeconfig")?;
    let listen = format!("8080=127.0.0.1:{}", &port[1]);
    let server = Server::start(cx, program, work, "listening", &["--listen", &listen])?;
    let mut session = Session::new(cx, &server.kubeconfig, &work.join("forward"))?;
    session.run("ok 'pod/web created' run web --image=i\n")?;
    for websockets in ["true", "false"] {
        let output = work.join(format!("forwarded-{websockets}"));
        let forward = session.kubectl().env("KUBECTL_PORT_FORWARD_WEBSOCKETS", websockets);
        let _forward = forward.args(["port-forward", "pod/web", ":8080"]).spawn(&output, &output)?;
        let port = local_port(&output)?;
        for request in 1..=3 {
            let url = format!("https://127.0.0.1:{port}/readyz");
            let body = cx.command("curl").args(["-sk", "-m", "20"]).arg(url).output()?.text();
            let log = std::fs::read_to_string(&output)?;
            ensure!(body == "ok", "request {request} through the forwarded port: {body:?}\n{log}");
        }
    }
    Ok(session.checks + 6)
}

pub(super) fn local_port(output: &Path) -> Result<String> {
    let pattern = regex(r"127\.0\.0\.1:(\d+) -> 8080");
    let end = Instant::now() + Duration::from_secs(30);
    loop {
        let text = std::fs::read_to_string(output).unwrap_or_default();
        if let Some(found) = pattern.captures(&text) {
            return Ok(found[1].to_owned());
        }
        ensure!(Instant::now() < end, "kubectl port-forward did not start: {text}");
        pause(Duration::from_millis(50))?;
    }
}
