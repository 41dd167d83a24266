//! The job `packet-loss`: an idle watch and an idle log stream over HTTP/1.1 fail within 60 s when the network drops every packet.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};

use crate::command::{Background, pause};
use crate::context::{Context, scratch};
use crate::skip::skip;

const SERVER: &str = "10.98.0.2:8080";

/// Without arguments the job, which runs itself in network namespaces: `inside CLIENT` and `serve`. Nothing outside of them changes.
pub(crate) fn packet_loss(cx: &Context, args: &[String]) -> Result<()> {
    let args: Vec<_> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        [] => {
            cx.require(&["unshare", "nsenter", "ip"])?;
            if !cx.command("unshare").args(["-n", "true"]).succeeds() {
                return skip("no permission to create a network namespace");
            }
            let client = cx.build("--example", "silence")?;
            cx.command("unshare")
                .arg("-n")
                .arg(std::env::current_exe()?)
                .args(["packet-loss", "inside"])
                .arg(client)
                .run()
        }
        ["inside", client] => inside(cx, client),
        ["serve"] => serve(),
        _ => bail!("unexpected arguments: {}", args.join(" ")),
    }
}

/// The client's namespace, with one cable to the server's.
fn inside(cx: &Context, client: &str) -> Result<()> {
    let work = scratch()?;
    let log = work.path().join("server");
    let server = cx.command("unshare").arg("-n").arg(std::env::current_exe()?).args(["packet-loss", "serve"]);
    let server = server.spawn(&log, &log)?;
    let pid = own_namespace(&server)?.to_string();
    let ip = |args: &str| cx.command("ip").args(args.split(' ')).run();
    let there = |args: &str| cx.command("nsenter").args(["-t", &pid, "-n", "ip"]).args(args.split(' ')).run();
    ip("link add client0 type veth peer name server0")?;
    ip(&format!("link set server0 netns {pid}"))?;
    ip("addr add 10.98.0.1/24 dev client0")?;
    ip("link set client0 up")?;
    there("addr add 10.98.0.2/24 dev server0")?;
    there("link set server0 up")?;
    until("the server does not listen", || TcpStream::connect(SERVER).is_ok())?;
    let output = work.path().join("client");
    let client = cx.command(client).arg(format!("http://{SERVER}")).spawn(&output, &output)?;
    let read = || std::fs::read_to_string(&output).unwrap_or_default();
    until("the client does not start", || read().contains('\n'))?;
    // From now on every packet to the server goes to a MAC address that does not exist.
    ip("neigh replace 10.98.0.2 lladdr 02:00:00:00:00:99 nud permanent dev client0")?;
    let code = client.wait(Duration::from_secs(120));
    print!("{}", read());
    ensure!(code? == 0, "the streams did not fail in time");
    Ok(())
}

/// Answers every request with response headers and an idle body.
fn serve() -> Result<()> {
    let listener = loop {
        match TcpListener::bind(SERVER) {
            Ok(listener) => break listener,
            // Its address comes with the cable.
            Err(_) => pause(Duration::from_millis(50))?,
        }
    };
    for connection in listener.incoming() {
        let mut connection = connection?;
        std::thread::spawn(move || -> std::io::Result<()> {
            let _ = connection.read(&mut [0; 65536])?;
            connection.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")?;
            // Until the job ends.
            std::thread::sleep(Duration::from_secs(300));
            Ok(())
        });
    }
    Ok(())
}

/// The process of the server, once it has left the namespace of this one.
fn own_namespace(server: &Background) -> Result<u32> {
    let pid = server.pid().context("the server did not start")?;
    let namespace = |process: &str| std::fs::read_link(Path::new("/proc").join(process).join("ns/net")).ok();
    until("the server has no namespace", || {
        namespace(&pid.to_string()).is_some_and(|own| Some(own) != namespace("self"))
    })?;
    Ok(pid)
}

fn until(otherwise: &str, condition: impl Fn() -> bool) -> Result<()> {
    let end = Instant::now() + Duration::from_secs(30);
    while !condition() {
        ensure!(Instant::now() < end, "{otherwise}");
        pause(Duration::from_millis(50))?;
    }
    Ok(())
}
