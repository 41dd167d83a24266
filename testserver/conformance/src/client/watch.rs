//! The stream of a watch: one JSON value per line.

use std::{fmt::Write as _, time::Duration};

use http::HeaderMap;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use serde_json::Value;

use crate::check::Failure;

/// The timeout of an expected event.
const EVENT_TIMEOUT: Duration = Duration::from_secs(15);

/// An open watch; dropping it closes the connection.
pub(crate) struct Watch {
    line: String,
    pub(crate) headers: HeaderMap,
    body: Incoming,
    pending: Vec<u8>,
    seen: String,
}

impl Watch {
    pub(crate) fn new(line: String, headers: HeaderMap, body: Incoming) -> Self {
        Self { line, headers, body, pending: Vec::new(), seen: String::new() }
    }

    /// The next event; `None` when the server ended the stream.
    pub(crate) async fn next(&mut self) -> Result<Option<Value>, Failure> {
        match tokio::time::timeout(EVENT_TIMEOUT, self.read()).await {
            Ok(event) => event,
            Err(_) => {
                Err(self
                    .failure("an event or the end of the stream", &format!("neither for {EVENT_TIMEOUT:?}")))
            }
        }
    }

    /// Expects the next event, except bookmarks, to have this type and object name.
    pub(crate) async fn expect(&mut self, kind: &str, name: &str) -> Result<Value, Failure> {
        let want = format!("{kind} {name}");
        loop {
            let Some(event) = self.next().await? else {
                return Err(self.failure(&want, "the end of the stream"));
            };
            if event["type"] == "BOOKMARK" && kind != "BOOKMARK" {
                continue;
            }
            if event["type"] == kind && event["object"]["metadata"]["name"] == name {
                return Ok(event["object"].clone());
            }
            return Err(self.failure(&want, &event.to_string()));
        }
    }

    /// Expects the next event to be a bookmark.
    pub(crate) async fn bookmark(&mut self) -> Result<Value, Failure> {
        match self.next().await? {
            Some(event) if event["type"] == "BOOKMARK" => Ok(event["object"].clone()),
            Some(event) => Err(self.failure("a BOOKMARK", &event.to_string())),
            None => Err(self.failure("a BOOKMARK", "the end of the stream")),
        }
    }

    /// Expects no event except bookmarks for this long.
    pub(crate) async fn expect_idle(&mut self, time: Duration) -> Result<(), Failure> {
        let until = tokio::time::Instant::now() + time;
        loop {
            match tokio::time::timeout_at(until, self.read()).await {
                Err(_) => return Ok(()),
                Ok(Ok(Some(event))) if event["type"] == "BOOKMARK" => {}
                Ok(Ok(Some(event))) => return Err(self.failure("no event", &event.to_string())),
                Ok(Ok(None)) => return Err(self.failure("an open stream", "its end")),
                Ok(Err(failure)) => return Err(failure),
            }
        }
    }

    /// A failure of this watch, with the events so far.
    pub(crate) fn failure(&self, expected: &str, actual: &str) -> Failure {
        Failure::new(
            &format!("{} (events so far:{})", self.line, self.seen),
            expected.to_owned(),
            actual.to_owned(),
        )
    }

    async fn read(&mut self) -> Result<Option<Value>, Failure> {
        loop {
            if let Some(end) = self.pending.iter().position(|b| *b == b'\n') {
                let line: Vec<u8> = self.pending.drain(..=end).collect();
                let event: Value = serde_json::from_slice(&line).map_err(|e| {
                    self.failure("one JSON value a line", &format!("{e}: {}", String::from_utf8_lossy(&line)))
                })?;
                let _ = write!(self.seen, " {} {}", event["type"], event["object"]["metadata"]["name"]);
                return Ok(Some(event));
            }
            match self.body.frame().await {
                Some(Ok(frame)) => self.pending.extend_from_slice(&frame.into_data().unwrap_or_default()),
                Some(Err(e)) => return Err(self.failure("a clean stream", &format!("{e:?}"))),
                None => return Ok(None),
            }
        }
    }
}
