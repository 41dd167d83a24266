//! A replica of the operator: a process with its own socket to the server.

use crate::audit::Audit;
use anyhow::{Context as _, bail};
use kube_testserver::{ApiServer, TestServer};
use std::{
    fs::{self, File},
    net::{SocketAddr, TcpListener},
    path::{Path, PathBuf},
    time::Duration,
};
use tokio::{
    process::{Child, Command},
    time::{Instant, sleep},
};

/// For the requests of a killed process that the server was still answering.
const LAST_REQUESTS: Duration = Duration::from_millis(500);

pub(crate) struct Replica {
    pub(crate) name: &'static str,
    pub(crate) webhooks: SocketAddr,
    pub(crate) started: Instant,
    program: PathBuf,
    folder: PathBuf,
    process: Child,
    _socket: TestServer,
}

impl Replica {
    pub(crate) async fn start(
        program: &Path,
        name: &'static str,
        server: &ApiServer,
        audit: &Audit,
        folder: &Path,
    ) -> anyhow::Result<Self> {
        let audit = audit.clone();
        let socket = TestServer::builder()
            .api(server.clone())
            .on_response(move |record| audit.record(name, record))
            .start()
            .await?;
        fs::write(folder.join(format!("{name}.kubeconfig")), socket.kubeconfig())?;
        let webhooks = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let process = spawn(program, name, webhooks, folder)?;
        let (program, folder) = (program.to_owned(), folder.to_owned());
        Ok(Self { name, webhooks, started: Instant::now(), program, folder, process, _socket: socket })
    }

    /// SIGKILL: nothing is released and nothing is cleaned up.
    pub(crate) async fn kill_and_restart(&mut self, audit: &Audit) -> anyhow::Result<()> {
        self.process.kill().await?;
        sleep(LAST_REQUESTS).await;
        audit.killed(self.name);
        self.process = spawn(&self.program, self.name, self.webhooks, &self.folder)?;
        self.started = Instant::now();
        Ok(())
    }

    pub(crate) fn pid(&self) -> Option<u32> {
        self.process.id()
    }

    /// An error if the process has ended by itself.
    pub(crate) fn check_running(&mut self) -> anyhow::Result<()> {
        if let Some(status) = self.process.try_wait()? {
            let log = fs::read_to_string(log_file(self.name, &self.folder)).unwrap_or_default();
            let last: Vec<_> = log.lines().rev().take(10).collect();
            bail!("replica {} ended with {status}: {last:?}", self.name);
        }
        Ok(())
    }
}

fn log_file(name: &str, folder: &Path) -> PathBuf {
    folder.join(format!("{name}.log"))
}

fn spawn(program: &Path, name: &str, webhooks: SocketAddr, folder: &Path) -> anyhow::Result<Child> {
    let mut command = Command::new(program);
    command
        .args(["--metrics", "127.0.0.1:0", "--webhooks", &webhooks.to_string()])
        .env("KUBECONFIG", folder.join(format!("{name}.kubeconfig")))
        .env("POD_NAME", name)
        .env("RUST_LOG", "warn")
        .stderr(File::create(log_file(name, folder))?)
        .kill_on_drop(true);
    command.spawn().with_context(|| format!("cannot start {}", program.display()))
}
