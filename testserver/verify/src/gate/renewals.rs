//! Renewals of Leases. A leader sends one every other second, and for most of a run nothing else happens. As long as nothing at all has
//! changed since the server accepted one, it would accept the next one, too: then it is answered here. Before anything else is asked about
//! Leases or written, and before anyone looks at the state, the last of these is written to the server.
//!
//! Their answers have the version of the renewal that the server has accepted. Nobody but the leader knows it: a request that names it is
//! one of the leader, which means the version that the server has by now.

use std::{collections::BTreeMap, time::Duration};

use bytes::Bytes;
use futures::FutureExt;
use http::{HeaderMap, Request, StatusCode, Uri, request::Parts, response};
use http_body_util::{BodyExt, Full};
use kube_testserver::ApiServer;
use parking_lot::Mutex;
use serde_json::Value;

use super::answer::pass;

/// The field that a renewal changes, in JSON without spaces.
const TIME: &str = r#""renewTime":""#;

/// What may review a Lease.
const REVIEWERS: [&str; 4] = [
    "mutatingwebhookconfigurations",
    "validatingwebhookconfigurations",
    "mutatingadmissionpolicies",
    "validatingadmissionpolicies",
];

/// The last renewals that the server has accepted, by the path of the Lease.
#[derive(Debug, Default)]
pub(super) struct Renewals(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    leases: BTreeMap<String, Renewed>,
    /// Whether the server has to have all renewals.
    ended: bool,
}

/// A Lease since the server has accepted a renewal.
#[derive(Debug)]
struct Renewed {
    uri: Uri,
    head: response::Parts,
    answer: Bytes,
    /// The version in this answer.
    known: String,
    /// The version that the server has now.
    version: String,
    /// The version of the state, if nothing else has changed since.
    state: u64,
    /// The last renewal that was answered here.
    last: Option<Bytes>,
    /// Its headers, until the server has it.
    unwritten: Option<HeaderMap>,
}

impl Renewals {
    /// The answer to a request that only renews the Lease once more.
    pub(super) fn answer(
        &self,
        server: &ApiServer,
        parts: &Parts,
        body: &Bytes,
    ) -> Option<(response::Parts, Bytes)> {
        let mut inner = self.0.lock();
        let is_ended = inner.ended;
        let renewed = inner.leases.get_mut(parts.uri.path()).filter(|_| !is_ended)?;
        // As each request does: controllers of the cluster do what is due.
        server.advance(Duration::ZERO);
        if renewed.state != server.resource_version() || renewed.uri != parts.uri {
            return None;
        }
        let repeats = match &renewed.last {
            Some(before) => differ_in_time(before, body),
            None => is_renewal(&renewed.answer, body) && !is_reviewed(server),
        };
        let answer = repeats.then(|| with_time(&renewed.answer, time_of(body)?)).flatten()?;
        (renewed.last, renewed.unwritten) = (Some(body.clone()), Some(parts.headers.clone()));
        Some((renewed.head.clone(), answer))
    }

    /// The server has answered one.
    pub(super) fn accepted(&self, server: &ApiServer, uri: Uri, head: &response::Parts, answer: &Bytes) {
        if head.status != StatusCode::OK {
            return;
        }
        let mut inner = self.0.lock();
        let path = uri.path().to_owned();
        inner.leases.remove(&path);
        let Some(version) = version_in(answer) else { return };
        let state = server.resource_version();
        // Otherwise something else has changed meanwhile.
        let is_last = version == state.to_string();
        if is_last && !inner.ended && !server.is_observed() {
            let (head, answer, known) = (head.clone(), answer.clone(), version.clone());
            let (last, unwritten) = (None, None);
            inner.leases.insert(path, Renewed { uri, head, answer, known, version, state, last, unwritten });
        }
    }

    /// Writes to the server what it has not yet.
    pub(super) fn write(&self, server: &ApiServer) {
        let unwritten = |(path, renewed): (&String, &mut Renewed)| Some((path.clone(), renewed.request()?));
        let requests: Vec<_> = self.0.lock().leases.iter_mut().filter_map(unwritten).collect();
        for (path, request) in requests {
            let before = server.resource_version();
            // At once, as nothing reviews it. If somebody else has changed the Lease, the leader is late.
            let Some(answer) = written(server, request).now_or_never().flatten() else { continue };
            let (version, after) = (version_in(&answer), server.resource_version());
            if let (Some(version), Some(renewed)) = (version, self.0.lock().leases.get_mut(&path)) {
                renewed.version = version;
                if renewed.state == before {
                    renewed.state = after;
                }
            }
        }
    }

    /// Somebody reads Leases, and gets to know their versions.
    pub(super) fn are_read(&self) {
        self.0.lock().leases.retain(|_, renewed| renewed.version != renewed.known);
    }

    /// From now on, the server gets all renewals.
    pub(super) fn end(&self, server: &ApiServer) {
        self.write(server);
        self.0.lock().ended = true;
    }

    /// The body of a request about a Lease, with the version that its sender means.
    pub(super) fn meant(&self, path: &str, body: Bytes) -> Bytes {
        match self.0.lock().leases.get(path) {
            Some(renewed) if renewed.version != renewed.known => renewed.meant(body),
            _ => body,
        }
    }
}

impl Renewed {
    /// The request of the last renewal, if the server has not seen it. It will have.
    fn request(&mut self) -> Option<Request<Full<Bytes>>> {
        let (headers, body) = (self.unwritten.take()?, self.meant(self.last.clone()?));
        let mut request = Request::put(self.uri.clone()).body(Full::new(body)).ok()?;
        *request.headers_mut() = headers;
        Some(request)
    }

    /// A body with the version of the server in the place of the known one: of an object, in preconditions, in a JSON patch.
    fn meant(&self, body: Bytes) -> Bytes {
        let Ok(mut value) = serde_json::from_slice::<Value>(&body) else { return body };
        let mut is_named = false;
        let mut name = |version: Option<&mut Value>| {
            if let Some(version) = version.filter(|version| **version == *self.known) {
                *version = self.version.clone().into();
                is_named = true;
            }
        };
        name(value.pointer_mut("/metadata/resourceVersion"));
        name(value.pointer_mut("/preconditions/resourceVersion"));
        let operations = value.as_array_mut().into_iter().flatten();
        operations
            .filter(|operation| operation["path"] == "/metadata/resourceVersion")
            .for_each(|operation| name(operation.get_mut("value")));
        if is_named { value.to_string().into() } else { body }
    }
}

/// The answer to a renewal that the server accepts.
async fn written(server: &ApiServer, request: Request<Full<Bytes>>) -> Option<Bytes> {
    let (head, body) = pass(server, request).await.ok()?.into_parts();
    let body = body.collect().await.ok()?.to_bytes();
    (head.status == StatusCode::OK).then_some(body)
}

/// What is before the time of a renewal, the time, and what is after it.
fn around_time(body: &[u8]) -> Option<(&str, &str, &str)> {
    let (before, rest) = std::str::from_utf8(body).ok()?.split_once(TIME)?;
    let (time, after) = rest.split_once('"')?;
    Some((before, time, after))
}

fn time_of(body: &[u8]) -> Option<&str> {
    around_time(body).map(|(_, time, _)| time)
}

/// The same JSON with another time, if that is one as the server writes it.
fn with_time(body: &[u8], time: &str) -> Option<Bytes> {
    let (before, known, after) = around_time(body)?;
    let is_alike = |(one, other): (u8, u8)| one == other || one.is_ascii_digit() && other.is_ascii_digit();
    if known.len() != time.len() || !known.bytes().zip(time.bytes()).all(is_alike) {
        return None;
    }
    Some([before, TIME, time, "\"", after].concat().into())
}

/// Whether two bodies differ in nothing but the time.
fn differ_in_time(one: &[u8], other: &[u8]) -> bool {
    let [one, other] = [one, other].map(|body| around_time(body).map(|(before, _, after)| (before, after)));
    one.is_some() && one == other
}

/// Whether a body renews the Lease of an answer, in whatever order its fields are.
fn is_renewal(answer: &[u8], body: &[u8]) -> bool {
    let read = |text: &[u8]| {
        let mut lease = serde_json::from_slice::<Value>(text).ok()?;
        lease["spec"].as_object_mut()?.remove("renewTime")?;
        Some(lease)
    };
    read(answer).is_some_and(|answer| read(body) == Some(answer))
}

/// The version of the Lease in an answer.
fn version_in(answer: &[u8]) -> Option<String> {
    let lease: Value = serde_json::from_slice(answer).ok()?;
    lease["metadata"]["resourceVersion"].as_str().map(str::to_owned)
}

/// Whether a webhook or a policy may have something to say about Leases.
fn is_reviewed(server: &ApiServer) -> bool {
    let of = |plural: &str| server.objects("admissionregistration.k8s.io", plural).unwrap_or_default();
    let items = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let has_leases = |rule: &Value| {
        let resources = items(&rule["resources"]);
        resources.iter().filter_map(Value::as_str).any(|name| name.starts_with('*') || name == "leases")
    };
    REVIEWERS.into_iter().flat_map(of).any(|reviewer| {
        let of_webhooks =
            items(&reviewer["webhooks"]).into_iter().flat_map(|webhook| items(&webhook["rules"]));
        let of_policy = items(&reviewer["spec"]["matchConstraints"]["resourceRules"]);
        of_webhooks.chain(of_policy).any(|rule| has_leases(&rule))
    })
}

#[cfg(test)]
#[path = "renewals_tests.rs"]
mod tests;
