//! Reports each request and its response to a callback, for request logs.

use std::{fmt, sync::Arc, time::Duration};

/// A request and its response, for request logs.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RequestRecord {
    /// The method, such as `GET`.
    pub method: http::Method,
    /// Path and query.
    pub uri: http::Uri,
    /// The `User-Agent` header.
    pub user_agent: String,
    /// The HTTP status code; 0 when a fault broke the connection first.
    pub code: u16,
    /// The time from the request's head to the response's head.
    pub took: Duration,
}

/// One line: `GET /api/v1/pods 200 0.3ms kubectl/v1.32`.
impl fmt::Display for RequestRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { method, uri, user_agent, code, took } = self;
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        let agent = user_agent.split(' ').next().unwrap_or_default();
        write!(f, "{method} {path} {code} {:.1}ms {agent}", took.as_secs_f64() * 1000.0)
    }
}

/// Called for every response.
#[derive(Clone)]
pub(crate) struct Observer(pub(crate) Arc<dyn Fn(&RequestRecord) + Send + Sync>);

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Observer")
    }
}
