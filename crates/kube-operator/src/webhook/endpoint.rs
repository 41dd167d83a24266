//! One webhook over HTTP: checks the request, limits its size and time, and counts it.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use axum::{
    body::{Body, HttpBody},
    extract::Request,
    response::{IntoResponse, Response},
};
use bytes::{Bytes, BytesMut};
use http::{HeaderMap, StatusCode, header};
use http_body_util::BodyExt;
use kube_serve::log_limit::LogLimit;
use tokio::time::Instant;

use super::{
    admission::{self, Handler},
    body_budget::{BodyBudget, Reservation},
    conversion::{self, Convert},
    metrics,
};

/// The `timeoutSeconds` of a webhook configuration that sets none.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);
/// No API server waits longer.
const MAX_TIMEOUT: Duration = Duration::from_secs(30);

/// How long the network may take for a body, whatever `?timeout=` says: what has arrived of it takes memory from others.
const BODY_PATIENCE: Duration = Duration::from_secs(5);
/// As much more for each MiB that has arrived.
const PATIENCE_PER_MIB: Duration = Duration::from_secs(1);
const MIB: f64 = 1024.0 * 1024.0;

/// What a webhook does with the body of a request.
#[derive(Clone)]
pub(super) enum Work {
    Admission(Handler),
    Conversion(Arc<[Box<dyn Convert>]>),
}

/// A path and what it serves.
#[derive(Clone)]
pub(super) struct Endpoint {
    pub(super) path: String,
    pub(super) work: Work,
    /// The largest body, in bytes.
    pub(super) body_limit: usize,
    pub(super) budget: BodyBudget,
    /// Of requests that fail: whoever reaches the port can send them.
    pub(super) log: Arc<LogLimit>,
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Endpoint").field(&self.path).finish()
    }
}

impl Endpoint {
    pub(super) async fn respond(&self, request: Request) -> Response {
        let _in_flight = metrics::InFlight::begin(&self.path);
        let begun = Instant::now();
        let response = match self.review(request).await {
            Ok(review) => ([(header::CONTENT_TYPE, "application/json")], review).into_response(),
            Err((code, message)) => {
                if let Some(left_out) = self.log.permit() {
                    let code = code.as_u16();
                    tracing::warn!(webhook = self.path, code, message, left_out, "webhook request failed");
                }
                // The API server shows the text of a failed call to its client.
                ([(header::CONTENT_TYPE, "text/plain; charset=utf-8")], message).into_response().with(code)
            }
        };
        metrics::responded(&self.path, response.status().as_u16(), begun.elapsed());
        response
    }

    async fn review(&self, request: Request) -> Result<Vec<u8>, (StatusCode, String)> {
        let bad = |message| (StatusCode::BAD_REQUEST, message);
        check_content_type(request.headers()).map_err(bad)?;
        let limit = time_limit(request.uri().query().unwrap_or_default()).map_err(bad)?;
        let reviewed = async {
            let mut reserved = self.budget.reservation(); // until the review is written
            let body = self.read(request.into_body(), &mut reserved).await?;
            match &self.work {
                Work::Admission(handler) => admission::review(handler, &body).await.map_err(bad),
                Work::Conversion(converters) => convert(converters.clone(), body).await,
            }
        };
        let late = |_| {
            (StatusCode::INTERNAL_SERVER_ERROR, format!("the webhook did not finish within {}", go(limit)))
        };
        tokio::time::timeout(limit, reviewed).await.map_err(late)?
    }

    /// Reads the body, and reserves memory for what has arrived: what a peer announces costs nothing.
    async fn read(&self, mut body: Body, reserved: &mut Reservation) -> Result<Bytes, (StatusCode, String)> {
        let too_large = || {
            let message = format!("the body is larger than {} bytes", self.body_limit);
            (StatusCode::PAYLOAD_TOO_LARGE, message)
        };
        if body.size_hint().lower() > self.body_limit as u64 {
            return Err(too_large());
        }
        let mut read = BytesMut::new();
        let mut patience = BODY_PATIENCE;
        loop {
            let begun = Instant::now();
            let frame = tokio::time::timeout(patience, body.frame()).await.map_err(|_| {
                (StatusCode::REQUEST_TIMEOUT, "the body of the request did not arrive in time".to_owned())
            })?;
            patience = patience.saturating_sub(begun.elapsed());
            let frame = match frame {
                None => return Ok(read.freeze()),
                Some(frame) => frame.map_err(|error| {
                    (StatusCode::BAD_REQUEST, format!("the body cannot be read: {error}"))
                })?,
            };
            let Ok(data) = frame.into_data() else { continue };
            if read.len() + data.len() > self.body_limit {
                return Err(too_large());
            }
            reserved.grow(data.len()).await;
            read.extend_from_slice(&data);
            patience += PATIENCE_PER_MIB.mul_f64(data.len() as f64 / MIB);
        }
    }
}

/// Converts on a thread where it may take long. Stops after the current object when this future is dropped.
async fn convert(converters: Arc<[Box<dyn Convert>]>, body: Bytes) -> Result<Vec<u8>, (StatusCode, String)> {
    let cancelled = Arc::new(AtomicBool::new(false));
    let _cancel = CancelOnDrop(cancelled.clone());
    let work = move || conversion::review(&converters, &body, || cancelled.load(Ordering::Relaxed));
    match tokio::task::spawn_blocking(work).await {
        Ok(review) => review.map_err(|message| (StatusCode::BAD_REQUEST, message)),
        Err(error) => {
            Err((StatusCode::INTERNAL_SERVER_ERROR, format!("the conversion did not finish: {error}")))
        }
    }
}

struct CancelOnDrop(Arc<AtomicBool>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

trait WithCode {
    fn with(self, code: StatusCode) -> Self;
}

impl WithCode for Response {
    fn with(mut self, code: StatusCode) -> Self {
        *self.status_mut() = code;
        self
    }
}

fn check_content_type(headers: &HeaderMap) -> Result<(), String> {
    let found = headers.get(header::CONTENT_TYPE).map(|value| String::from_utf8_lossy(value.as_bytes()));
    let found = found.unwrap_or_default();
    let media_type = found.split(';').next().unwrap_or_default().trim();
    if media_type.eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    Err(format!("Content-Type: expected application/json, found {found:?}"))
}

/// The time in which to respond: the API server's limit, which it sends as `?timeout=10s`, less a tenth for the way back.
fn time_limit(query: &str) -> Result<Duration, String> {
    let sent = form_urlencoded::parse(query.as_bytes()).find(|(key, _)| key == "timeout");
    let limit = match sent {
        None => DEFAULT_TIMEOUT,
        Some((_, text)) => {
            let invalid =
                |why: String| format!("timeout: expected a duration such as 10s, found {text:?}: {why}");
            let limit: kube_core::Duration =
                text.parse().map_err(|why: kube_core::duration::ParseError| invalid(why.to_string()))?;
            if limit.is_negative() {
                return Err(invalid("it is negative".into()));
            }
            // 0 is Go's "no limit".
            Some(Duration::from(limit))
                .filter(|limit| !limit.is_zero())
                .unwrap_or(MAX_TIMEOUT)
                .min(MAX_TIMEOUT)
        }
    };
    Ok(limit - (limit / 10).min(Duration::from_millis(500)))
}

fn go(duration: Duration) -> kube_core::Duration {
    duration.into()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use http::{HeaderMap, header};

    use super::{check_content_type, time_limit};

    #[test]
    fn the_time_limit_is_below_the_servers() {
        for (query, millis) in [
            ("", 9_500),
            ("timeout=10s", 9_500),
            ("timeout=1s", 900),
            ("a=b&timeout=2s&timeout=9s", 1_800),
            ("timeout=30s", 29_500),
            ("timeout=2000h", 29_500),
            ("timeout=0s", 29_500),
            ("timeout=1ns", 0),
        ] {
            assert_eq!(time_limit(query).unwrap().as_millis(), millis, "{query}");
        }
        assert!(time_limit("timeout=1ns").unwrap() <= Duration::from_nanos(1));
        for query in ["timeout=", "timeout=ten", "timeout=-5s", "timeout=9999999999999999999s"] {
            let error = time_limit(query).unwrap_err();
            assert!(error.starts_with("timeout: expected a duration such as 10s, found "), "{error}");
        }
    }

    #[test]
    fn only_json_is_accepted() {
        let check = |content_type: Option<&str>| {
            let mut headers = HeaderMap::new();
            headers.extend(content_type.map(|text| (header::CONTENT_TYPE, text.parse().unwrap())));
            check_content_type(&headers)
        };
        for good in ["application/json", "Application/JSON; charset=utf-8"] {
            check(Some(good)).unwrap();
        }
        for bad in [None, Some("text/json"), Some("application/yaml"), Some("")] {
            assert!(check(bad).unwrap_err().contains("expected application/json"), "{bad:?}");
        }
    }
}
