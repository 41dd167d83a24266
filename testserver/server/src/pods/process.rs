//! A process of a container: its streams, its exit, and what a script sees of it.

use tokio::{
    io::{DuplexStream, duplex},
    sync::mpsc,
};

/// Buffer size of a stream.
const BUFFER: usize = 64 * 1024;

/// Identifies a container of a pod.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Container {
    /// Namespace of the pod.
    pub namespace: String,
    /// Name of the pod.
    pub pod: String,
    /// Name of the container.
    pub name: String,
}

/// Columns and rows of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct TerminalSize {
    /// Columns.
    pub width: u16,
    /// Rows.
    pub height: u16,
}

/// A command that runs in a container for a client: the argument of `exec` and `attach` scripts.
///
/// The streams are those of a program. Streams that the client did not request exist too: standard input is at its end, and output is
/// discarded. The client sees the end of an output stream once the script has dropped it, and the exit status once the script has returned.
/// When the client disconnects, the script is dropped at its next await.
#[derive(Debug)]
pub struct Process {
    /// The container it runs in.
    pub container: Container,
    /// The command and its arguments; empty for `attach`.
    pub command: Vec<String>,
    /// Whether it has a terminal. Then all output is on `stdout`.
    pub tty: bool,
    /// Input of the client; ends when the client closes it.
    pub stdin: DuplexStream,
    /// Standard output.
    pub stdout: DuplexStream,
    /// Standard error.
    pub stderr: DuplexStream,
    sizes: mpsc::UnboundedReceiver<TerminalSize>,
}

/// The state of a container after its pod has started.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ContainerState {
    /// It runs and is ready until its pod is deleted.
    Running,
    /// It terminated with this exit code. If the restart policy restarts it, it stays in `CrashLoopBackOff`.
    Terminated(i32),
    /// It does not start, for this reason, such as `ImagePullBackOff`.
    Waiting(String),
}

/// How a [`Process`] ended. An `i32` converts to an exit code, `()` to 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Exit {
    /// It exited with this code; 0 is success.
    Code(i32),
    /// It could not be started; the client receives the reason.
    Failed(String),
}

/// A client's connection to a port of a pod: the argument of `port-forward` scripts.
#[derive(Debug)]
pub struct Connection {
    /// Namespace of the pod.
    pub namespace: String,
    /// Name of the pod.
    pub pod: String,
    /// The port of the pod.
    pub port: u16,
    /// Both directions; dropping it or shutting it down ends the connection.
    pub stream: DuplexStream,
}

/// The client's ends of a [`Process`].
#[derive(Debug)]
pub(crate) struct Streams {
    pub(crate) stdin: DuplexStream,
    pub(crate) stdout: DuplexStream,
    pub(crate) stderr: DuplexStream,
    pub(crate) sizes: mpsc::UnboundedSender<TerminalSize>,
}

impl Process {
    pub(crate) fn new(container: Container, command: Vec<String>, tty: bool) -> (Self, Streams) {
        let (ours_in, stdin) = duplex(BUFFER);
        let (ours_out, stdout) = duplex(BUFFER);
        let (ours_err, stderr) = duplex(BUFFER);
        let (resize, sizes) = mpsc::unbounded_channel();
        let streams = Streams { stdin: ours_in, stdout: ours_out, stderr: ours_err, sizes: resize };
        (Self { container, command, tty, stdin, stdout, stderr, sizes }, streams)
    }

    /// Waits for the next terminal size; the first one arrives soon after the start. `None` when there will be no more. Cancel safe.
    pub async fn resized(&mut self) -> Option<TerminalSize> {
        self.sizes.recv().await
    }
}

impl Connection {
    /// The script's end and the client's end.
    pub(crate) fn new(namespace: &str, pod: &str, port: u16) -> (Self, DuplexStream) {
        let (ours, stream) = duplex(BUFFER);
        (Self { namespace: namespace.into(), pod: pod.into(), port, stream }, ours)
    }
}

impl Exit {
    /// The container has no such program.
    pub(super) fn no_executable(program: &str) -> Self {
        Self::Failed(format!(
            "error executing command in container: exec: {program:?}: executable file not found in $PATH"
        ))
    }
}

impl From<i32> for Exit {
    fn from(code: i32) -> Self {
        Self::Code(code)
    }
}

impl From<()> for Exit {
    fn from((): ()) -> Self {
        Self::Code(0)
    }
}
