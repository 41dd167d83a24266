//! The kubelet: which script runs for which container, and what became of it.

use std::{collections::HashMap, fmt, future::Future, net::SocketAddr, sync::Arc};

use futures::future::{BoxFuture, FutureExt};
use parking_lot::{Mutex, RwLock};
use serde_json::Value;
use tokio::{
    io::{AsyncWriteExt, copy, split},
    net::TcpStream,
};

use super::{
    Connection, Container, ContainerState, Exit, LogQuery, LogTail, Process, Session, SessionRecorder, Shell,
    Streams, attach::attach, containers::is_helm_test, logs::ContainerLogs, session::SessionLog,
};
use crate::{clock::Clock, scheme::Resource, storage::Change};

type CommandScript = Arc<dyn Fn(Process) -> BoxFuture<'static, Exit> + Send + Sync>;
type StartScript = Arc<dyn Fn(&Container, &Value) -> ContainerState + Send + Sync>;
type ForwardScript = Arc<dyn Fn(Connection) -> BoxFuture<'static, Result<(), String>> + Send + Sync>;

/// The kubelet: serves `exec`, `attach`, `port-forward` and `logs` with scripts of the test.
///
/// A handle; clones share the kubelet. Scripts may be set at any time and apply to every session that starts later. Without a script,
/// `exec` is a small shell (`sh -c`, `echo`, `cat`, `ls`, `test`, `tar`, `env`, `hostname`, `sleep`, `true`, `false`, `exit`) over
/// in-memory files, enough for `kubectl cp`; without the feature `shell` every command fails as an executable that is not found. `attach`
/// echoes its input, or prints the container's log; no port listens.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use kube_testserver::{Process, TestServer};
/// use tokio::io::AsyncWriteExt;
///
/// let server = TestServer::start().await?;
/// server.api().kubelet().on_exec(async |mut process: Process| {
///     let line = format!("{} ran {:?}\n", process.container.pod, process.command);
///     drop(process.stdout.write_all(line.as_bytes()).await);
///     3 // the exit code
/// });
/// server.api().kubelet().on_port_forward(async |mut connection| {
///     if connection.port != 80 {
///         return Err(format!("nothing listens on {}", connection.port));
///     }
///     drop(connection.stream.write_all(b"hello\n").await);
///     Ok(())
/// });
/// # Ok::<_, kube_testserver::StartError>(()) }).unwrap();
/// ```
#[derive(Clone)]
pub struct Kubelet {
    inner: Arc<Inner>,
}

struct Inner {
    start: RwLock<Option<StartScript>>,
    exec: RwLock<CommandScript>,
    attach: RwLock<CommandScript>,
    forward: RwLock<Option<ForwardScript>>,
    listening: Mutex<HashMap<u16, SocketAddr>>,
    logs: ContainerLogs,
    sessions: SessionLog,
    shell: Shell,
}

impl Kubelet {
    pub(crate) fn new(clock: Clock) -> Self {
        let (logs, shell) = (ContainerLogs::new(clock), Shell::default());
        let exec: CommandScript = {
            let shell = shell.clone();
            Arc::new(move |process| shell.clone().run(process).boxed())
        };
        let attach: CommandScript = {
            let logs = logs.clone();
            Arc::new(move |process| attach(process, logs.clone()).boxed())
        };
        let inner = Inner {
            start: RwLock::new(None),
            exec: RwLock::new(exec),
            attach: RwLock::new(attach),
            forward: RwLock::new(None),
            listening: Mutex::default(),
            logs,
            sessions: SessionLog::default(),
            shell,
        };
        Self { inner: Arc::new(inner) }
    }

    /// Decides the state of every container that starts from now on, provided its pod. Called within the request that starts it: it may
    /// write to the log, and must not call the server.
    ///
    /// Without a script containers run, with exceptions: in pods that are not restarted, a container whose command is one of the small
    /// shell (feature `shell`) executes it, containers of Jobs without a command succeed (the image `pause` runs on), and so do tests of
    /// Helm (`helm.sh/hook: test`). The annotation `kube-testserver/exit-code` of a pod ends its containers with that code,
    /// `kube-testserver/exit-code.NAME` one of them.
    ///
    /// ```
    /// use kube_testserver::{ApiServer, BuiltInController, ContainerState};
    ///
    /// let server = ApiServer::builder().with(BuiltInController::Kubelet).service()?;
    /// server.kubelet().on_start(|container, _pod| match container.name.as_str() {
    ///     "broken" => ContainerState::Waiting("ImagePullBackOff".into()),
    ///     _ => ContainerState::Running,
    /// });
    /// # Ok::<_, kube_testserver::StartError>(())
    /// ```
    pub fn on_start(&self, script: impl Fn(&Container, &Value) -> ContainerState + Send + Sync + 'static) {
        *self.inner.start.write() = Some(Arc::new(script));
    }

    /// Runs this script for every `exec` from now on.
    pub fn on_exec<F, R, E>(&self, script: F)
    where
        F: Fn(Process) -> R + Send + Sync + 'static,
        R: Future<Output = E> + Send + 'static,
        E: Into<Exit> + 'static,
    {
        *self.inner.exec.write() = command(script);
    }

    /// Runs this script for every `attach` from now on.
    pub fn on_attach<F, R, E>(&self, script: F)
    where
        F: Fn(Process) -> R + Send + Sync + 'static,
        R: Future<Output = E> + Send + 'static,
        E: Into<Exit> + 'static,
    {
        *self.inner.attach.write() = command(script);
    }

    /// Runs this script for every connection to a port of a pod from now on, except ports of [`listen`](Self::listen). The client receives
    /// its error.
    pub fn on_port_forward<F, R>(&self, script: F)
    where
        F: Fn(Connection) -> R + Send + Sync + 'static,
        R: Future<Output = Result<(), String>> + Send + 'static,
    {
        *self.inner.forward.write() = Some(Arc::new(move |connection| script(connection).boxed()));
    }

    /// Forwards connections to this port of any pod to a real socket, such as a server that the test runs on loopback.
    pub fn listen(&self, port: u16, address: SocketAddr) {
        self.inner.listening.lock().insert(port, address);
    }

    /// Appends lines to the log of a container, with the server's time. Clients that follow the log see them at once.
    ///
    /// ```
    /// let api = kube_testserver::ApiServer::new();
    /// api.kubelet().log("default", "web", "main", "listening\nready");
    /// assert_eq!(api.kubelet().logged("default", "web", "main"), ["listening", "ready"]);
    /// ```
    pub fn log(&self, namespace: &str, pod: &str, container: &str, text: &str) {
        self.inner.logs.append(&container_id(namespace, pod, container), text);
    }

    /// The log of a container so far.
    pub fn logged(&self, namespace: &str, pod: &str, container: &str) -> Vec<String> {
        self.inner.logs.lines(&container_id(namespace, pod, container))
    }

    /// Records a restart of a container: its log becomes the `previous` log and starts empty.
    pub fn rotate_log(&self, namespace: &str, pod: &str, container: &str) {
        self.inner.logs.rotate(&container_id(namespace, pod, container));
    }

    /// All `exec` and `attach` sessions so far, oldest first; the last 1000 are kept.
    pub fn sessions(&self) -> Vec<Session> {
        self.inner.sessions.all()
    }

    /// Starts a container of a pod. Without a script and without `default`, its command decides.
    pub(crate) fn start_container(
        &self,
        id: Container,
        pod: &Value,
        container: &Value,
        default: Option<ContainerState>,
    ) -> ContainerState {
        let script = self.inner.start.read().clone();
        if let Some(script) = script {
            return script(&id, pod);
        }
        let state =
            default.unwrap_or_else(|| self.inner.shell.run_to_completion(&id, container, &self.inner.logs));
        match state {
            ContainerState::Running if pod["spec"]["restartPolicy"] == "Never" && is_helm_test(pod) => {
                ContainerState::Terminated(0)
            }
            state => state,
        }
    }

    /// The future that runs a command, the client's ends of its streams, and the recorder of the session.
    pub(crate) fn start_command(
        &self,
        container: Container,
        command: Option<Vec<String>>,
        tty: bool,
    ) -> (BoxFuture<'static, Exit>, Streams, SessionRecorder) {
        let script = if command.is_some() { &self.inner.exec } else { &self.inner.attach };
        let script = script.read().clone();
        let command = command.unwrap_or_default();
        let recorder = self.inner.sessions.begin(&container, &command, tty);
        let (process, streams) = Process::new(container, command, tty);
        (script(process), streams, recorder)
    }

    /// The future that serves a connection to a port; the client receives its error.
    pub(crate) fn connect(&self, connection: Connection) -> BoxFuture<'static, Result<(), String>> {
        let port = connection.port;
        let address = self.inner.listening.lock().get(&port).copied();
        if let Some(address) = address {
            return relay(connection, address).boxed();
        }
        let script = self.inner.forward.read().clone();
        match script {
            Some(script) => script(connection),
            None => {
                let why = format!("failed to connect to localhost:{port} inside the pod: connection refused");
                std::future::ready(Err(why)).boxed()
            }
        }
    }

    pub(crate) fn tail(&self, container: &Container, query: LogQuery) -> LogTail {
        self.inner.logs.tail(container, query)
    }

    /// Removes the logs and files of a removed pod, and ends readers of its logs.
    pub(crate) fn observe(&self, resource: &Resource, change: &Change) {
        if !resource.is("", "pods") || change.after().is_some() {
            return;
        }
        let key = &change.object.key;
        let (namespace, pod) = (key.namespace().unwrap_or_default(), key.name());
        self.inner.logs.forget(namespace, pod);
        self.inner.shell.forget(namespace, pod);
    }
}

impl fmt::Debug for Kubelet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kubelet").field("sessions", &self.sessions().len()).finish_non_exhaustive()
    }
}

fn command<F, R, E>(script: F) -> CommandScript
where
    F: Fn(Process) -> R + Send + Sync + 'static,
    R: Future<Output = E> + Send + 'static,
    E: Into<Exit> + 'static,
{
    Arc::new(move |process| script(process).map(Into::into).boxed())
}

fn container_id(namespace: &str, pod: &str, container: &str) -> Container {
    Container { namespace: namespace.into(), pod: pod.into(), name: container.into() }
}

/// Copies both directions until the socket ends its side; later input of the client is discarded.
async fn relay(connection: Connection, address: SocketAddr) -> Result<(), String> {
    let socket = TcpStream::connect(address).await.map_err(|error| {
        format!("failed to connect to localhost:{} inside the pod: {error}", connection.port)
    })?;
    let (mut from_client, mut to_client) = split(connection.stream);
    let (mut from_socket, mut to_socket) = socket.into_split();
    let there = async {
        // Errors of either side end the connection.
        drop(copy(&mut from_client, &mut to_socket).await);
        drop(to_socket.shutdown().await);
        std::future::pending::<()>().await;
    };
    tokio::select! {
        _ = copy(&mut from_socket, &mut to_client) => {}
        () = there => {}
    }
    Ok(())
}
