//! Exec, attach and port-forward: requests that open a websocket.

use http::Method;

use crate::{
    encode::Query,
    request::{Error, Request},
};

/// Which streams of a process are connected, and how much of each is buffered on this side.
///
/// By default output and errors are read and nothing is written.
///
/// ```
/// use kube_core::subresource::AttachParams;
/// let shell = AttachParams::interactive_tty().container("app");
/// assert!(shell.stdin && shell.stdout && shell.tty && !shell.stderr);
/// ```
#[derive(Debug)]
pub struct AttachParams {
    /// The container; may be left out where the pod has one only.
    pub container: Option<String>,
    /// Whether the process reads from the caller.
    pub stdin: bool,
    /// Whether the caller reads the output.
    pub stdout: bool,
    /// Whether the caller reads the errors. Excludes [`tty`](Self::tty).
    pub stderr: bool,
    /// Whether the process gets a terminal, which mixes errors into the output.
    pub tty: bool,
    /// Bytes of input buffered until the connection takes them; `None` for the client's default.
    pub max_stdin_buf_size: Option<usize>,
    /// Bytes of output buffered until the caller reads them; `None` for the client's default.
    pub max_stdout_buf_size: Option<usize>,
    /// Bytes of errors buffered until the caller reads them; `None` for the client's default.
    pub max_stderr_buf_size: Option<usize>,
}

impl Default for AttachParams {
    fn default() -> Self {
        Self {
            container: None,
            stdin: false,
            stdout: true,
            stderr: true,
            tty: false,
            max_stdin_buf_size: None,
            max_stdout_buf_size: None,
            max_stderr_buf_size: None,
        }
    }
}

impl AttachParams {
    /// For people at a terminal: input, output and a terminal on the other side.
    #[must_use]
    pub fn interactive_tty() -> Self {
        Self { stdin: true, stderr: false, tty: true, ..Self::default() }
    }

    /// Chooses the container.
    #[must_use]
    pub fn container<T: Into<String>>(mut self, container: T) -> Self {
        self.container = Some(container.into());
        self
    }

    /// Whether the process reads from the caller.
    #[must_use]
    pub fn stdin(mut self, enable: bool) -> Self {
        self.stdin = enable;
        self
    }

    /// Whether the caller reads the output.
    #[must_use]
    pub fn stdout(mut self, enable: bool) -> Self {
        self.stdout = enable;
        self
    }

    /// Whether the caller reads the errors.
    #[must_use]
    pub fn stderr(mut self, enable: bool) -> Self {
        self.stderr = enable;
        self
    }

    /// Whether the process gets a terminal.
    #[must_use]
    pub fn tty(mut self, enable: bool) -> Self {
        self.tty = enable;
        self
    }

    /// Bytes of input to buffer.
    #[must_use]
    pub fn max_stdin_buf_size(mut self, size: usize) -> Self {
        self.max_stdin_buf_size = Some(size);
        self
    }

    /// Bytes of output to buffer.
    #[must_use]
    pub fn max_stdout_buf_size(mut self, size: usize) -> Self {
        self.max_stdout_buf_size = Some(size);
        self
    }

    /// Bytes of errors to buffer.
    #[must_use]
    pub fn max_stderr_buf_size(mut self, size: usize) -> Self {
        self.max_stderr_buf_size = Some(size);
        self
    }

    /// Refuses what the server refuses.
    pub(crate) fn check(&self) -> Result<(), Error> {
        if !(self.stdin || self.stdout || self.stderr) {
            return Err(Error::Validation(
                "at least one of stdin, stdout and stderr must be connected".into(),
            ));
        }
        if self.tty && self.stderr {
            return Err(Error::Validation(
                "a terminal has no stream of errors: set tty or stderr, not both".into(),
            ));
        }
        Ok(())
    }

    fn query(&self) -> Result<Query, Error> {
        self.check()?;
        let mut query = Query::default();
        query.push_some("container", self.container.as_deref());
        query.push_flag("stdin", self.stdin);
        query.push_flag("stdout", self.stdout);
        query.push_flag("stderr", self.stderr);
        query.push_flag("tty", self.tty);
        Ok(query)
    }
}

impl Request {
    /// Connects to the main process of a running container.
    pub fn attach(&self, name: &str, ap: &AttachParams) -> Result<http::Request<Vec<u8>>, Error> {
        self.on_subresource(Method::GET, name, "attach")?.query(ap.query()?).empty()
    }

    /// Runs a command (the program and its arguments, no shell) in a running container.
    pub fn exec<I, T>(
        &self,
        name: &str,
        command: I,
        ap: &AttachParams,
    ) -> Result<http::Request<Vec<u8>>, Error>
    where
        I: IntoIterator<Item = T>,
        T: Into<String>,
    {
        let mut query = ap.query()?;
        self::command(command, &mut query)?;
        self.on_subresource(Method::GET, name, "exec")?.query(query).empty()
    }

    /// Connects to ports of a pod, two channels of one websocket each: in the order of `ports`, data and errors.
    pub fn portforward(&self, name: &str, ports: &[u16]) -> Result<http::Request<Vec<u8>>, Error> {
        let mut query = Query::default();
        query.push("ports", &check_ports(ports)?);
        self.on_subresource(Method::GET, name, "portforward")?.query(query).empty()
    }
}

/// Adds the command; it must name a program.
pub(crate) fn command<I, T>(command: I, query: &mut Query) -> Result<(), Error>
where
    I: IntoIterator<Item = T>,
    T: Into<String>,
{
    let mut command = command.into_iter().map(Into::into).peekable();
    if command.peek().is_none_or(String::is_empty) {
        return Err(Error::Validation("the command is empty, expected a program and its arguments".into()));
    }
    command.for_each(|word| query.push("command", &word));
    Ok(())
}

/// Joins the ports by commas, as servers and kubelets read them.
pub(crate) fn check_ports(ports: &[u16]) -> Result<String, Error> {
    if ports.is_empty() {
        return Err(Error::Validation("no port to forward was given".into()));
    }
    // A channel is numbered by one byte, and each port takes two.
    if ports.len() > 128 {
        return Err(Error::Validation(format!(
            "{} ports cannot share a connection, at most 128 can",
            ports.len()
        )));
    }
    if ports.contains(&0) {
        return Err(Error::Validation("port 0 cannot be forwarded, expected 1 to 65535".into()));
    }
    let mut sorted = ports.to_vec();
    sorted.sort_unstable();
    if let Some(twice) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(Error::Validation(format!("port {} was given twice", twice[0])));
    }
    Ok(ports.iter().map(u16::to_string).collect::<Vec<_>>().join(","))
}
