//! Container logs.

use http::Method;

use crate::{
    encode::Query,
    request::{Error, Request},
};

/// Which part of a container's log is read. By default everything up to now.
///
/// ```
/// use kube_core::{Request, subresource::LogParams};
///
/// let pods = Request::new("/api/v1/namespaces/web/pods");
/// let tail = LogParams {
///     container: Some("app".into()),
///     follow: true,
///     tail_lines: Some(20),
///     ..LogParams::default()
/// };
/// let request = pods.logs("front-0", &tail)?;
/// assert_eq!(request.uri().query(), Some("&container=app&follow=true&tailLines=20"));
///
/// let twice = LogParams { since_seconds: Some(60), since_time: Some("2024-05-06T07:08:09Z".parse()?), ..tail };
/// assert!(pods.logs("front-0", &twice).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct LogParams {
    /// The container, which may be an init or ephemeral container. `None` for the only container of the pod; the response is 400
    /// if it has more. (Only kubectl reads the annotation `kubectl.kubernetes.io/default-container`.)
    pub container: Option<String>,
    /// Whether the response continues with new lines until the container ends or the connection is dropped.
    pub follow: bool,
    /// The maximum number of bytes, at least 1; the last line may be truncated. `None` for no limit.
    pub limit_bytes: Option<i64>,
    /// Whether the server indents the JSON of an error. The log itself is not changed.
    pub pretty: bool,
    /// Whether to read the log of the previous run of the container, for example after a crash; 400 if there was none.
    pub previous: bool,
    /// Only lines of the last seconds by the node's clock, at least 1. Excludes [`since_time`](Self::since_time).
    pub since_seconds: Option<i64>,
    /// Only lines from this time on. Excludes [`since_seconds`](Self::since_seconds).
    pub since_time: Option<jiff::Timestamp>,
    /// Only this number of lines from the end, 0 for no existing line; `None` for all.
    pub tail_lines: Option<i64>,
    /// Whether every line starts with its time (RFC 3339 with nanoseconds) and a space.
    pub timestamps: bool,
}

impl LogParams {
    /// The parameters as a query, validated by the rules of the server.
    pub(crate) fn query(&self) -> Result<Query, Error> {
        for (name, value, minimum) in [
            ("limit_bytes", self.limit_bytes, 1),
            ("since_seconds", self.since_seconds, 1),
            ("tail_lines", self.tail_lines, 0),
        ] {
            if let Some(value) = value.filter(|value| *value < minimum) {
                return Err(Error::Validation(format!("{name} is {value}, expected at least {minimum}")));
            }
        }
        if self.since_seconds.is_some() && self.since_time.is_some() {
            return Err(Error::Validation("at most one of since_seconds and since_time may be set".into()));
        }
        let mut query = Query::default();
        query.push_some("container", self.container.as_deref());
        query.push_flag("follow", self.follow);
        query.push_number("limitBytes", self.limit_bytes);
        query.push_flag("pretty", self.pretty);
        query.push_flag("previous", self.previous);
        query.push_number("sinceSeconds", self.since_seconds);
        query.push_some("sinceTime", self.since_time.map(|time| time.to_string()).as_deref());
        query.push_number("tailLines", self.tail_lines);
        query.push_flag("timestamps", self.timestamps);
        Ok(query)
    }
}

impl Request {
    /// Reads the log of a container of a pod. The response is text, not necessarily UTF-8.
    ///
    /// # Errors
    ///
    /// [`Error::Validation`] for numbers below their minimum, for both `since_seconds` and `since_time`, and for an unsafe name
    /// (see [`Request`]).
    pub fn logs(&self, name: &str, lp: &LogParams) -> Result<http::Request<Vec<u8>>, Error> {
        self.on_subresource(Method::GET, name, "log")?.query(lp.query()?).accept("*/*").empty()
    }
}
