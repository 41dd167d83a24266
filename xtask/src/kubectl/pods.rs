//! The job `foreign-pods`: kubectl and the PyPI client `kubernetes` against pods of an embedded server; kubectl and `kube` on the same
//! pods.

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
    let both = both_ways(cx, &server.kubeconfig, &folder)?;
    println!("{both} checks of kubectl and kube together passed");

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

/// What kubectl copies into a pod, `kube` copies out unchanged, and the other way round; their other commands have the same effect.
fn both_ways(cx: &Context, kubeconfig: &Path, folder: &Path) -> Result<usize> {
    let program = cx.build("--example", "pods")?;
    let ours = |args: &[&str]| {
        let command = cx.command(&program).dir(folder).env("KUBECONFIG", kubeconfig);
        let output = command.args(args).limit(Duration::from_secs(60)).output()?;
        ensure!(output.code == 0, "pods {}: {}", args.join(" "), output.text());
        Ok(output.text())
    };
    let mut session = Session::new(cx, kubeconfig, folder)?;
    session.run("ok 'pod/both created' run both --image=i\nok 'met' wait --for=condition=Ready pod/both --timeout=10s\n")?;
    std::fs::write(folder.join("tree/large"), "0123456789abcdef".repeat(200_000))?;
    ours(&["cp", "tree", "both:/ours"])?;
    session.run("ok 'two' exec both -- cat /ours/deep/b\nok '' cp both:/ours kubectl-out\nok '' cp tree both:/theirs\n")?;
    let copied = ours(&["cp", "both:/theirs", "kube-out"])?;
    ensure!(copied.contains("3 files, 3200008 bytes"), "kube copied {copied}");
    // Into a directory that exists, and a single file.
    session.run("ok '' cp tree/a both:/ours\nok 'one' exec both -- cat /ours/a\n")?;
    ours(&["cp", "tree/a", "both:/ours/deep"])?;
    session.run("ok 'one' exec both -- cat /ours/deep/a\n")?;
    for copy in ["kubectl-out", "kube-out"] {
        for file in ["a", "deep/b", "large"] {
            let same = std::fs::read(folder.join(copy).join(file))?
                == std::fs::read(folder.join("tree").join(file))?;
            ensure!(same, "{copy}/{file} differs");
        }
    }
    let printed = ours(&["exec", "both", "sh", "-c", "cat /theirs/deep/b"])?;
    ensure!(printed == "two\n", "exec printed {printed:?}");
    Ok(session.checks + 5)
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
