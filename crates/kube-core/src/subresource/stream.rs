//! Exec, attach and port-forward: requests that open a websocket.

use http::Method;

use crate::{
    encode::Query,
    request::{Error, Request},
};

/// Which streams of a process are connected, and how much of each the client buffers.
///
/// By default stdout and stderr are connected, stdin is not.
///
/// ```
/// use kube_core::{Request, subresource::AttachParams};
///
/// let pods = Request::new("/api/v1/namespaces/web/pods");
/// let shell = AttachParams::interactive_tty().container("app");
/// assert_eq!(
///     pods.exec("front-0", ["sh"], &shell)?.uri().query(),
///     Some("&stdin=true&stdout=true&tty=true&container=app&command=sh"),
/// );
///
/// // Like `interactive_tty`; a terminal has no separate stderr.
/// let tty = AttachParams::default().stdin(true).stdout(true).stderr(false).tty(true);
/// assert_eq!(pods.attach("front-0", &tty)?.uri().query(), Some("&stdin=true&stdout=true&tty=true"));
/// assert!(pods.attach("front-0", &tty.stderr(true)).is_err());
///
/// let small = AttachParams::default().max_stdin_buf_size(1024).max_stdout_buf_size(4096).max_stderr_buf_size(4096);
/// assert_eq!(small.max_stdout_buf_size, Some(4096));
/// # Ok::<(), kube_core::request::Error>(())
/// ```
#[derive(Debug)]
pub struct AttachParams {
    /// The container. `None` for the only container of the pod; the response is 400 if it has more.
    pub container: Option<String>,
    /// Whether to connect stdin. Off by default. An [attached](Request::attach) process reads it only if its container has
    /// `stdin: true`.
    pub stdin: bool,
    /// Whether to connect stdout. On by default.
    pub stdout: bool,
    /// Whether to connect stderr. On by default. Excludes [`tty`](Self::tty).
    pub stderr: bool,
    /// Whether to allocate a terminal, which merges stderr into stdout. Off by default; excludes [`stderr`](Self::stderr).
    pub tty: bool,
    /// Maximum bytes of stdin buffered until the connection accepts them; `None` for the client's default.
    pub max_stdin_buf_size: Option<usize>,
    /// Maximum bytes of stdout buffered until the caller reads them; `None` for the client's default.
    pub max_stdout_buf_size: Option<usize>,
    /// Maximum bytes of stderr buffered until the caller reads them; `None` for the client's default.
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
    /// For interactive use: stdin, stdout and a terminal.
    #[must_use]
    pub fn interactive_tty() -> Self {
        Self { stdin: true, stderr: false, tty: true, ..Self::default() }
    }

    /// Sets the [`container`](Self::container).
    #[must_use]
    pub fn container<T: Into<String>>(mut self, container: T) -> Self {
        self.container = Some(container.into());
        self
    }

    /// Sets [`stdin`](Self::stdin): whether to connect stdin.
    #[must_use]
    pub fn stdin(mut self, enable: bool) -> Self {
        self.stdin = enable;
        self
    }

    /// Sets [`stdout`](Self::stdout): whether to connect stdout.
    #[must_use]
    pub fn stdout(mut self, enable: bool) -> Self {
        self.stdout = enable;
        self
    }

    /// Sets [`stderr`](Self::stderr): whether to connect stderr. Turn it off for a terminal.
    #[must_use]
    pub fn stderr(mut self, enable: bool) -> Self {
        self.stderr = enable;
        self
    }

    /// Sets [`tty`](Self::tty): whether to allocate a terminal.
    #[must_use]
    pub fn tty(mut self, enable: bool) -> Self {
        self.tty = enable;
        self
    }

    /// Sets the maximum bytes of stdin to buffer; when they are full, writers wait for the connection.
    #[must_use]
    pub fn max_stdin_buf_size(mut self, size: usize) -> Self {
        self.max_stdin_buf_size = Some(size);
        self
    }

    /// Sets the maximum bytes of stdout to buffer; when they are full, the connection is not read until the caller has read some.
    #[must_use]
    pub fn max_stdout_buf_size(mut self, size: usize) -> Self {
        self.max_stdout_buf_size = Some(size);
        self
    }

    /// Sets the maximum bytes of stderr to buffer. As for stdout, a full buffer blocks the whole connection.
    #[must_use]
    pub fn max_stderr_buf_size(mut self, size: usize) -> Self {
        self.max_stderr_buf_size = Some(size);
        self
    }

    /// Rejects parameters that the server rejects.
    pub(crate) fn check(&self) -> Result<(), Error> {
        if !(self.stdin || self.stdout || self.stderr) {
            return Err(Error::Validation(
                "AttachParams: one of stdin, stdout, or stderr must be true".into(),
            ));
        }
        if self.tty && self.stderr {
            return Err(Error::Validation("AttachParams: tty and stderr cannot both be true".into()));
        }
        Ok(())
    }

    fn query(&self) -> Result<Query, Error> {
        self.check()?;
        let mut query = Query::default();
        query.push_flag("stdin", self.stdin);
        query.push_flag("stdout", self.stdout);
        query.push_flag("stderr", self.stderr);
        query.push_flag("tty", self.tty);
        query.push_some("container", self.container.as_deref());
        Ok(query)
    }
}

impl Request {
    /// Connects to the main process of a running container.
    ///
    /// The client adds the websocket headers.
    ///
    /// # Errors
    ///
    /// [`Error::Validation`] if no stream is connected, for a terminal with stderr, and for an unsafe name (see [`Request`]).
    pub fn attach(&self, name: &str, ap: &AttachParams) -> Result<http::Request<Vec<u8>>, Error> {
        self.on_subresource(Method::GET, name, "attach")?.query(ap.query()?).empty()
    }

    /// Runs a command (a program and its arguments, without a shell) in a running container.
    ///
    /// Each argument is one `command` parameter of the query, in order.
    ///
    /// # Errors
    ///
    /// [`Error::Validation`] for an empty command, and as for [`attach`](Self::attach).
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

    /// Connects to ports of a pod over one websocket, with two channels per port in the order of `ports`: data and errors.
    ///
    /// # Errors
    ///
    /// [`Error::Validation`] for no port, port 0, a duplicate port, more than 128 ports (a channel number is one byte), and for
    /// an unsafe name (see [`Request`]).
    ///
    /// ```
    /// use kube_core::Request;
    /// let pods = Request::new("/api/v1/namespaces/web/pods");
    /// assert_eq!(pods.portforward("front-0", &[80, 443])?.uri().query(), Some("&ports=80%2C443"));
    /// assert!(pods.portforward("front-0", &[80, 80]).is_err());
    /// # Ok::<(), kube_core::request::Error>(())
    /// ```
    pub fn portforward(&self, name: &str, ports: &[u16]) -> Result<http::Request<Vec<u8>>, Error> {
        let mut query = Query::default();
        query.push("ports", &check_ports(ports)?);
        self.on_subresource(Method::GET, name, "portforward")?.query(query).empty()
    }
}

/// Adds the command, which must have a program.
pub(crate) fn command<I, T>(command: I, query: &mut Query) -> Result<(), Error>
where
    I: IntoIterator<Item = T>,
    T: Into<String>,
{
    let mut command = command.into_iter().map(Into::into).peekable();
    if command.peek().is_none_or(String::is_empty) {
        return Err(Error::Validation("the command is empty, expected a program and its arguments".into()));
    }
    command.for_each(|argument| query.push("command", &argument));
    Ok(())
}

/// Validates the ports and joins them with commas, as servers and kubelets expect.
pub(crate) fn check_ports(ports: &[u16]) -> Result<String, Error> {
    if ports.is_empty() {
        return Err(Error::Validation("ports cannot be empty".into()));
    }
    // A channel number is one byte, and each port needs two channels.
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
        return Err(Error::Validation(format!("ports must be unique, found multiple {}", twice[0])));
    }
    Ok(ports.iter().map(u16::to_string).collect::<Vec<_>>().join(","))
}
