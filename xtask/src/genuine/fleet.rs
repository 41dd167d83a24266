//! Genuine servers beside each other, and the job `fleet-genuine`: `examples/fleet` with its hub on one and a member on another.

use std::path::Path;

use anyhow::{Context as _, Result};

use crate::command::Command;
use crate::context::{Context, scratch};
use crate::job::no_arguments;

const SERVER: &str = "v1.37";
/// Of the first server, whose etcd has the two after it.
const FIRST_PORT: u16 = 24_000;

pub(crate) fn fleet(cx: &Context, args: &[String]) -> Result<()> {
    no_arguments(args)?;
    let folder = scratch()?;
    let servers = FleetServer::up_many(cx, folder.path(), 2)?;
    let test = cx.cargo(&format!("test --quiet {} --test genuine -- --nocapture", cx.workspace()));
    test.env("KUBE_E2E_FLEET", FleetServer::kubeconfigs(&servers)).run()
}

/// A genuine server with a state of its own. It ends when this is dropped.
pub(crate) struct FleetServer {
    kubeconfig: String,
    /// The server may be suspended still, if the test was killed: that would not end before it is killed, too.
    resume: Command,
    down: Command,
}

impl FleetServer {
    /// Starts so many, with their states in this folder.
    pub(crate) fn up_many(cx: &Context, folder: &Path, count: u16) -> Result<Vec<Self>> {
        (0..count).map(|at| Self::up(cx, folder, FIRST_PORT + 100 * at)).collect()
    }

    /// Their kubeconfigs as tests take them, in this order.
    pub(crate) fn kubeconfigs(servers: &[Self]) -> String {
        servers.iter().map(|server| server.kubeconfig.as_str()).collect::<Vec<_>>().join(":")
    }

    fn up(cx: &Context, folder: &Path, port: u16) -> Result<Self> {
        let home = folder.join(port.to_string());
        std::fs::create_dir_all(&home)?;
        // The programs are unpacked once.
        let programs = folder.join("bin");
        std::fs::create_dir_all(&programs)?;
        std::os::unix::fs::symlink(programs, home.join("bin")).context("cannot link the programs")?;
        let program = super::realapi::program(cx)?;
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
