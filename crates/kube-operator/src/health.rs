//! `/livez`, `/readyz` and `/healthz`: named checks, in the paths and the text format of the API server.
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! use kube_operator::health::{Check, Health};
//! use tower::ServiceExt;
//!
//! let health = Health::new()
//!     .live(Check::new("queue", || Ok::<_, String>(())))
//!     .ready(Check::asynchronous("database", async || Err("connection refused")));
//! let app = health.router(); // merge it with other routes and serve it
//!
//! let probe = |path: &str| http::Request::get(path).body(axum::body::Body::empty()).unwrap();
//! assert_eq!(app.clone().oneshot(probe("/livez")).await?.status(), 200);
//! let failed = app.oneshot(probe("/readyz")).await?;
//! assert_eq!(failed.status(), 500);
//! let body = axum::body::to_bytes(failed.into_body(), 1000).await?;
//! assert_eq!(body, "[+]ping ok\n[-]database failed: reason withheld\nreadyz check failed\n");
//! # Ok::<_, Box<dyn std::error::Error>>(()) }).unwrap();
//! ```
//!
//! | request | response |
//! |---|---|
//! | `/livez` | 200 `ok` if all checks succeed, else 500 with one line per check, the reasons withheld |
//! | `/livez?verbose` | one line per check, also if all succeed |
//! | `/livez?exclude=NAME`, repeatable | without these checks |
//! | `/livez/NAME` | one check; 500 with its reason, or 200 `ok` with its [note](Check::note), if it has one |
//!
//! `/readyz` is the same for readiness. `/healthz` is the older name of `/livez` and runs its checks. The check `ping` always exists and
//! succeeds. Reasons are logged as warnings, at most a few times a minute for each check, and the end of a failure at info. Source:
//! "Kubernetes API health endpoints" of the Kubernetes documentation.
//!
//! A liveness check that fails makes the kubelet restart the container: it should state that the process cannot recover by itself. Use a
//! readiness check for what may pass, such as a peer that is not reachable.

use std::{
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use parking_lot::RwLock;

use axum::{
    Router,
    extract::{Path, RawQuery},
    response::{IntoResponse, Response},
    routing::get,
};
use futures::{
    FutureExt,
    future::{BoxFuture, join_all},
};
use http::{HeaderName, StatusCode, header};
use kube_serve::log_limit::LogLimit;
use serde::Serialize;

const DEFAULT_TIMEOUT: Duration = Duration::from_secs(1);
const HEADERS: [(HeaderName, &str); 3] = [
    (header::CONTENT_TYPE, "text/plain; charset=utf-8"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::CACHE_CONTROL, "no-cache, private"),
];

/// Why a check failed: any error, or a text.
pub type Reason = Box<dyn std::error::Error + Send + Sync>;

type Note = dyn Fn() -> Option<String> + Send + Sync;

type Run = dyn Fn() -> BoxFuture<'static, Result<(), Reason>> + Send + Sync;

/// A named check. It runs once for each request, at the same time as the other checks.
///
/// A check that panics has failed. A clone shares the closure.
#[derive(Clone)]
pub struct Check {
    name: String,
    timeout: Duration,
    run: Arc<Run>,
    note: Option<Arc<Note>>,
    log: Arc<CheckLog>,
}

/// What was logged of a check. Probes come at any rate, from whoever reaches the port.
#[derive(Default)]
struct CheckLog {
    failing: AtomicBool,
    limit: LogLimit,
}

impl Check {
    /// A check that reads a state of this process. The closure must not block; use [`asynchronous`](Self::asynchronous) to wait.
    pub fn new<E>(name: impl Into<String>, check: impl Fn() -> Result<(), E> + Send + Sync + 'static) -> Self
    where
        E: Into<Reason> + 'static,
    {
        let check = Arc::new(check);
        Self::asynchronous(name, move || {
            let check = check.clone();
            async move { check() }
        })
    }

    /// A check that waits, for example for a response. Its future is dropped at the [`timeout`](Self::timeout), and when the client
    /// of the request leaves.
    pub fn asynchronous<F, E>(name: impl Into<String>, check: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<(), E>> + Send + 'static,
        E: Into<Reason>,
    {
        // The closure may panic too, so it is called within the future.
        let check = Arc::new(check);
        let run = move || {
            let check = check.clone();
            async move { check().await.map_err(Into::into) }.boxed()
        };
        Self {
            name: name.into(),
            timeout: DEFAULT_TIMEOUT,
            run: Arc::new(run),
            note: None,
            log: Arc::default(),
        }
    }

    /// How long the check may take before it has failed; 1 s by default. The `timeoutSeconds` of the kubelet's probe, also 1 s by
    /// default, should be longer, or the kubelet ends the request first.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// What a person wants to know while the check succeeds: shown at `/readyz/NAME` and in [`Health::report`]. `None` for nothing.
    ///
    /// ```
    /// use kube_operator::health::Check;
    ///
    /// let _check = Check::new("cache", || Ok::<_, String>(())).note(|| Some("filled from a snapshot".to_owned()));
    /// ```
    #[must_use]
    pub fn note(mut self, note: impl Fn() -> Option<String> + Send + Sync + 'static) -> Self {
        self.note = Some(Arc::new(note));
        self
    }

    /// The note, unless it panics.
    fn noted(&self) -> Option<String> {
        let note = self.note.as_ref()?;
        catch_unwind(AssertUnwindSafe(|| note()))
            .unwrap_or_else(|_| Some("the note of the check panicked".into()))
    }

    /// Logs a failure, at most a few times a minute, and its end.
    fn log(&self, endpoint: &str, result: &Result<(), Reason>) {
        let (check, was_failing) = (&self.name, self.log.failing.swap(result.is_err(), Ordering::Relaxed));
        match result {
            Err(reason) => {
                if let Some(left_out) = self.log.limit.permit() {
                    tracing::warn!(endpoint, check, %reason, left_out, "health check failed");
                }
            }
            Ok(()) if was_failing => tracing::info!(endpoint, check, "health check succeeds again"),
            Ok(()) => {}
        }
    }

    async fn result(&self) -> Result<(), Reason> {
        match tokio::time::timeout(self.timeout, AssertUnwindSafe((self.run)()).catch_unwind()).await {
            Ok(Ok(result)) => result,
            Ok(Err(_)) => Err("the check panicked".into()),
            Err(_) => Err(format!("no result within {:?}", self.timeout).into()),
        }
    }
}

impl fmt::Debug for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Check")
            .field("name", &self.name)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

/// What a check is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Probe {
    /// The process makes progress; otherwise it should be restarted. `/livez` and `/healthz`.
    Live,
    /// The process can do its work; otherwise it should receive no traffic. `/readyz`.
    Ready,
}

/// The result of a check: see [`Health::report`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct CheckReport {
    /// `livez` or `readyz`.
    pub endpoint: &'static str,
    /// The name of the check.
    pub check: String,
    /// `ok` or `failed`.
    pub state: &'static str,
    /// Why it failed, or the [note](Check::note) of a check that succeeds.
    pub message: Option<String>,
}

/// The checks of a process, and their endpoints. Clones share the checks, and checks may be added and removed while it serves.
///
/// The example of the [module](self) shows it.
#[derive(Clone, Debug)]
pub struct Health {
    checks: Arc<RwLock<Vec<(Probe, Check)>>>,
}

impl Default for Health {
    fn default() -> Self {
        Self::new()
    }
}

impl Health {
    /// Only the check `ping`, which succeeds.
    pub fn new() -> Self {
        let ping = Check::new("ping", || Ok::<_, Reason>(()));
        Self { checks: Arc::new(RwLock::new(vec![(Probe::Live, ping.clone()), (Probe::Ready, ping)])) }
    }

    /// Adds a liveness check.
    #[must_use]
    pub fn live(self, check: Check) -> Self {
        self.add(Probe::Live, check);
        self
    }

    /// Adds a readiness check.
    #[must_use]
    pub fn ready(self, check: Check) -> Self {
        self.add(Probe::Ready, check);
        self
    }

    /// Adds a check to all clones. Checks with one name all run; their order is that of addition.
    pub fn add(&self, probe: Probe, check: Check) {
        self.checks.write().push((probe, check));
    }

    /// Removes all checks of this name and probe from all clones; those that run now still finish.
    pub fn remove(&self, probe: Probe, name: &str) {
        let mut checks = self.checks.write();
        checks.retain(|(kind, check)| *kind != probe || check.name != name);
    }

    /// Runs all checks, as a request of each endpoint does, and returns what a person wants to know of them, the reasons included. For
    /// [`DebugPage::asynchronous_section`](crate::debug::DebugPage::asynchronous_section).
    pub async fn report(&self) -> Vec<CheckReport> {
        let checks = |endpoint, probe| self.of(probe).into_iter().map(move |check| (endpoint, check));
        let checks = checks("livez", Probe::Live).chain(checks("readyz", Probe::Ready));
        let reports = checks.map(|(endpoint, check)| async move {
            let (state, message) = match check.result().await {
                Ok(()) => ("ok", check.noted()),
                Err(reason) => ("failed", Some(reason.to_string())),
            };
            CheckReport { endpoint, check: check.name, state, message }
        });
        join_all(reports).await
    }

    /// The endpoints, to be merged with other routes. Only GET and HEAD are allowed.
    pub fn router(&self) -> Router {
        let mut router = Router::new();
        for (endpoint, probe) in [("livez", Probe::Live), ("readyz", Probe::Ready), ("healthz", Probe::Live)]
        {
            let (all, one) = (self.clone(), self.clone());
            let report = move |RawQuery(query): RawQuery| async move {
                all.respond(endpoint, probe, &query.unwrap_or_default()).await
            };
            let single = move |Path(name): Path<String>| async move { one.respond_one(probe, &name).await };
            router = router
                .route(&format!("/{endpoint}"), get(report))
                .route(&format!("/{endpoint}/{{*name}}"), get(single));
        }
        router
    }

    async fn respond(&self, endpoint: &str, probe: Probe, query: &str) -> Response {
        let mut excluded = Vec::new();
        let mut verbose = false;
        for (key, value) in form_urlencoded::parse(query.as_bytes()) {
            match key.as_ref() {
                "verbose" => verbose = true,
                "exclude" => excluded.push(value.into_owned()),
                _ => {}
            }
        }
        let checks = self.of(probe);
        let (skipped, run): (Vec<_>, Vec<_>) =
            checks.iter().cloned().partition(|check| excluded.contains(&check.name));
        let results = results(&run).await;
        for (check, result) in run.iter().zip(&results) {
            check.log(endpoint, result);
        }
        let failed = results.iter().any(Result::is_err);
        if !failed && !verbose {
            return text(StatusCode::OK, "ok".into());
        }
        let mut results = run.iter().zip(&results);
        let mut body = String::new();
        for check in &checks {
            body += &if skipped.iter().any(|skipped| Arc::ptr_eq(&skipped.run, &check.run)) {
                format!("[+]{} excluded: ok\n", check.name)
            } else if results.next().is_some_and(|(_, result)| result.is_ok()) {
                format!("[+]{} ok\n", check.name)
            } else {
                format!("[-]{} failed: reason withheld\n", check.name)
            };
        }
        excluded.retain(|name| checks.iter().all(|check| check.name != *name));
        if !excluded.is_empty() {
            let unknown: Vec<_> = excluded.iter().map(|name| format!("{name:?}")).collect();
            let unknown = unknown.join(", ");
            body += &format!("warn: some health checks cannot be excluded: no matches for {unknown}\n");
        }
        let outcome = if failed { "failed" } else { "passed" };
        body += &format!("{endpoint} check {outcome}\n");
        text(if failed { StatusCode::INTERNAL_SERVER_ERROR } else { StatusCode::OK }, body)
    }

    async fn respond_one(&self, probe: Probe, name: &str) -> Response {
        let mut checks = self.of(probe);
        checks.retain(|check| check.name == name);
        if checks.is_empty() {
            return text(StatusCode::NOT_FOUND, format!("there is no check {name:?}\n"));
        }
        match results(&checks).await.into_iter().find_map(Result::err) {
            None => {
                let notes = checks.iter().filter_map(Check::noted);
                text(StatusCode::OK, notes.fold("ok".to_owned(), |body, note| body + "\n" + &note))
            }
            Some(reason) => {
                text(StatusCode::INTERNAL_SERVER_ERROR, format!("internal server error: {reason}\n"))
            }
        }
    }

    /// A copy: no check runs under the lock.
    fn of(&self, probe: Probe) -> Vec<Check> {
        let checks = self.checks.read();
        checks.iter().filter(|(kind, _)| *kind == probe).map(|(_, check)| check.clone()).collect()
    }
}

async fn results(checks: &[Check]) -> Vec<Result<(), Reason>> {
    join_all(checks.iter().map(Check::result)).await
}

fn text(code: StatusCode, body: String) -> Response {
    (code, HEADERS, body).into_response()
}

#[cfg(test)]
#[path = "health_tests.rs"]
mod tests;
