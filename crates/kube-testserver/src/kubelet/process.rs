use tokio::{
    io::{DuplexStream, duplex},
    sync::mpsc,
};

/// How much may wait in a stream before its writer has to.
const BUFFER: usize = 64 * 1024;

/// A container of a pod, by its names.
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

/// A command that runs in a container for a client: what a script of `exec` or `attach` gets.
///
/// The streams are as a program sees them. A stream that the client did not ask for is there all the same: standard
/// input is at its end, output goes nowhere. The client sees the end of an output once the script has dropped it, and the
/// result once the script has returned. When the client goes away the script is dropped where it waits.
#[derive(Debug)]
pub struct Process {
    /// Where it runs.
    pub container: Container,
    /// The command and its arguments; empty for `attach`.
    pub command: Vec<String>,
    /// Whether it has a terminal. Then all output is on `stdout`.
    pub tty: bool,
    /// What the client sends; at its end once the client has closed it.
    pub stdin: DuplexStream,
    /// Shown to the client as output.
    pub stdout: DuplexStream,
    /// Shown to the client as error output.
    pub stderr: DuplexStream,
    sizes: mpsc::UnboundedReceiver<TerminalSize>,
}

/// What becomes of a container when its pod comes to a node.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ContainerState {
    /// It runs, and is ready, until its pod is deleted.
    Running,
    /// It ran and has ended with this exit code. Where the pod's restart policy has it started again, it is in
    /// `CrashLoopBackOff` from then on.
    Terminated(i32),
    /// It does not come to run, for this reason, such as `ImagePullBackOff`.
    Waiting(String),
}

/// How a [`Process`] ended. A plain `i32` turns into an exit code, `()` into 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Exit {
    /// It ran and left this exit code; 0 is success.
    Code(i32),
    /// It could not be run at all; the client is told why.
    Failed(String),
}

/// A connection of a client to a port of a pod: what a script of `port-forward` gets.
#[derive(Debug)]
pub struct Connection {
    /// Namespace of the pod.
    pub namespace: String,
    /// Name of the pod.
    pub pod: String,
    /// The port of the pod.
    pub port: u16,
    /// Both directions; dropping it, or shutting it down, ends the connection.
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

    /// Waits for the client to change the size of its terminal; the first size comes soon after the start. `None` when
    /// no further change can come. Cancel safe.
    pub async fn resized(&mut self) -> Option<TerminalSize> {
        self.sizes.recv().await
    }
}

impl Connection {
    /// The script's end and the client's.
    pub(crate) fn new(namespace: &str, pod: &str, port: u16) -> (Self, DuplexStream) {
        let (ours, stream) = duplex(BUFFER);
        (Self { namespace: namespace.into(), pod: pod.into(), port, stream }, ours)
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
