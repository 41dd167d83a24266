//! The job `e2e-etcd-restore`: a watcher on a genuine server whose etcd is restored from a backup.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};

use super::realapi;
use crate::command::{Command, pause};
use crate::context::{Context, scratch};
use crate::job::choices;
use crate::test::end_to_end;

/// The API server; etcd is at the port after it and its peers at the next.
const PORT: u16 = 26789;
const SERVER: &str = "v1.37";

/// Without arguments the job; the test that it runs calls the same program with `save` and later with `restore`.
pub(crate) fn etcd_restore(cx: &Context, args: &[String]) -> Result<()> {
    match choices(args, &["save", "restore"], &[])?.first() {
        Some(&"save") => etcd(cx)?.save(),
        Some(_) => etcd(cx)?.restore(),
        None => run(cx),
    }
}

fn run(cx: &Context) -> Result<()> {
    let program = realapi::program(cx)?;
    let home = scratch()?;
    let realapi =
        |command: Command| command.env("REALAPI_HOME", home.path()).env("REALAPI_PORT", PORT.to_string());
    let kubeconfig = realapi(cx.command(&program)).args(["up", SERVER, "--bare"]).read()?;
    // The test names one program, without arguments.
    let storage = home.path().join("storage");
    let this = std::env::current_exe()?;
    std::fs::write(&storage, format!("#!/bin/sh\nexec {} e2e-etcd-restore \"$1\"\n", this.display()))?;
    std::fs::set_permissions(&storage, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
    let suite =
        realapi(cx.cargo(&format!("test {} --test e2e -- --nocapture etcd_restore::", cx.workspace())));
    let suite =
        suite.env("KUBE_E2E", "cluster").env("KUBECONFIG", kubeconfig).env("KUBE_E2E_STORAGE", &storage);
    let result = end_to_end(suite);
    realapi(cx.command(&program)).args(["down", SERVER]).cleans_up().run()?;
    result
}

/// The etcd of the server that the job has started.
struct Etcd<'a> {
    cx: &'a Context,
    home: PathBuf,
    run: PathBuf,
}

fn etcd(cx: &Context) -> Result<Etcd<'_>> {
    let home =
        PathBuf::from(std::env::var_os("REALAPI_HOME").context("REALAPI_HOME is not set: run the job")?);
    Ok(Etcd { cx, run: home.join(SERVER), home })
}

impl Etcd<'_> {
    fn save(&self) -> Result<()> {
        self.stop()?;
        self.copy("etcd", "backup")?;
        self.start()
    }

    fn restore(&self) -> Result<()> {
        self.stop()?;
        self.copy("backup", "etcd")?;
        self.start()?;
        self.cx.command(realapi::program(self.cx)?).args(["bounce", SERVER]).run()
    }

    fn copy(&self, from: &str, to: &str) -> Result<()> {
        let to = self.run.join(to);
        if to.exists() {
            std::fs::remove_dir_all(&to)?;
        }
        self.cx.command("cp").arg("-r").arg(self.run.join(from)).arg(to).run()
    }

    /// As after a power cut: the backup is what is on disk.
    fn stop(&self) -> Result<()> {
        let pid: i32 = std::fs::read_to_string(self.pid_file())?.trim().parse()?;
        let pid = rustix::process::Pid::from_raw(pid).context("etcd has no process id")?;
        rustix::process::kill_process(pid, rustix::process::Signal::KILL)?;
        self.until(|healthy| !healthy)
    }

    /// Detached, because it outlives this process.
    fn start(&self) -> Result<()> {
        let (client, peers) = (url(PORT + 1), url(PORT + 2));
        let etcd = self.home.join("bin").join(SERVER).join("etcd");
        let script = "setsid nohup \"$@\" >>etcd.log 2>&1 & echo $! >\"$PID\"";
        let start =
            self.cx.command("sh").args(["-c", script, "sh"]).arg(etcd).args(["--name", SERVER, "--data-dir"]);
        let start = start.arg(self.run.join("etcd")).args(["--listen-client-urls", &client]);
        let start = start.args(["--advertise-client-urls", &client, "--listen-peer-urls", &peers]);
        let start =
            start.args(["--initial-advertise-peer-urls", &peers, "--unsafe-no-fsync", "--log-level", "warn"]);
        let start = start.arg("--initial-cluster").arg(format!("{SERVER}={peers}"));
        start.env("PID", self.pid_file()).dir(&self.run).run()?;
        self.until(|healthy| healthy)
    }

    fn until(&self, wanted: impl Fn(bool) -> bool) -> Result<()> {
        let health = format!("{}/health", url(PORT + 1));
        for _ in 0..100 {
            if wanted(self.cx.command("curl").args(["-fsS", "-m", "1", &health]).succeeds()) {
                return Ok(());
            }
            pause(Duration::from_millis(100))?;
        }
        ensure!(false, "etcd did not start or stop: see {}", self.run.join("etcd.log").display());
        Ok(())
    }

    fn pid_file(&self) -> PathBuf {
        Path::new(&self.run).join("etcd.pid")
    }
}

fn url(port: u16) -> String {
    format!("http://127.0.0.1:{port}")
}
