//! The job `chaos`: controllers of this workspace, of kube 5.0.0 and of Go's controller-runtime beside each other on a genuine API server
//! that fails, and an operator for three genuine servers of which one is away.

use std::path::Path;

use anyhow::{Context as _, Result};

use crate::command::Command;
use crate::context::{Context, scratch};
use crate::genuine;

const SERVER: &str = "v1.37";
/// Of each server, whose etcd has the two after it.
const PORTS: [u16; 3] = [24_000, 24_100, 24_200];

/// Prints a table: the time until everything is reconciled after restarts, outages, hangs and frozen connections. Then, or with `fleet`
/// only: how long changes on two servers take while a third one is suspended.
pub(crate) fn chaos(cx: &Context, args: &[String]) -> Result<()> {
    genuine::program(cx)?;
    let is_fleet = args.iter().any(|arg| arg == "fleet");
    if !is_fleet {
        cx.cargo("run --quiet --release --manifest-path bench/Cargo.toml -- chaos").args(args).run()?;
    }
    if is_fleet || args.is_empty() { fleet(cx) } else { Ok(()) }
}

fn fleet(cx: &Context) -> Result<()> {
    let folder = scratch()?;
    let servers: Result<Vec<_>> =
        PORTS.iter().map(|port| FleetServer::up(cx, folder.path(), *port)).collect();
    let servers = servers?;
    let kubeconfigs: Vec<&str> = servers.iter().map(|server| server.kubeconfig.as_str()).collect();
    let suite = cx.cargo(&format!("test {} --test e2e -- --nocapture fleet_outage::genuine", cx.workspace()));
    suite.env("KUBE_E2E_FLEET", kubeconfigs.join(":")).run()
}

/// A genuine server with a state of its own. It ends when this is dropped.
struct FleetServer {
    kubeconfig: String,
    /// The server may be suspended still, if the test was killed: that would not end before it is killed, too.
    resume: Command,
    down: Command,
}

impl FleetServer {
    fn up(cx: &Context, folder: &Path, port: u16) -> Result<Self> {
        let home = folder.join(port.to_string());
        std::fs::create_dir_all(&home)?;
        // The programs are unpacked once.
        let programs = folder.join("bin");
        std::fs::create_dir_all(&programs)?;
        std::os::unix::fs::symlink(programs, home.join("bin")).context("cannot link the programs")?;
        let program = genuine::program(cx)?;
        let realapi =
            || cx.command(&program).env("REALAPI_HOME", &home).env("REALAPI_PORT", port.to_string());
        // From here on it is ended, also if it does not become ready.
        let down = realapi().args(["down", SERVER]).cleans_up();
        let (kubeconfig, pid) = (home.join(SERVER).join("kubeconfig"), home.join(SERVER).join("server.pid"));
        let resume =
            cx.command("sh").args(["-c", "kill -CONT $(cat \"$0\")", &pid.display().to_string()]).cleans_up();
        let server = Self { kubeconfig: kubeconfig.display().to_string(), resume, down };
        realapi().args(["up", SERVER, "--bare"]).run()?;
        Ok(server)
    }
}

impl Drop for FleetServer {
    fn drop(&mut self) {
        self.resume.clone().succeeds();
        self.down.clone().succeeds();
    }
}
