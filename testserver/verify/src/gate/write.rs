//! Writes, with the faults that can happen to them.

use std::{io, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{
    Response, StatusCode,
    header::{CONTENT_TYPE, USER_AGENT},
    request::Parts,
};
use http_body_util::BodyExt;
use serde_json::{Value, json};

use super::{
    answer::{Body, call, full, refusal},
    forward::forward,
    session::{Session, Touched},
    target::{Target, writing_verb},
};
use crate::{
    plan::{Operation, Place, RequestFault, Verb},
    state::{ObjectName, TOUCHED},
    trace::{StatusWrite, Write},
};

const SLOW: Duration = Duration::from_secs(10);
/// When a request of a process that was replaced arrives.
const LATE: Duration = Duration::from_secs(60);

/// A write of the operator.
pub(super) async fn respond(
    session: &Arc<Session>,
    incarnation: u64,
    target: &Target,
    parts: Parts,
    body: Bytes,
) -> io::Result<Response<Body>> {
    let (place, fault) = session.place(operation(session, target, &parts, &body));
    if let Some(fault) = fault {
        session.log(format!("FAULT: {}", told(fault, &place)));
    }
    if let Some(refusal) = fault.and_then(injected) {
        return Ok(refusal);
    }
    match fault {
        Some(RequestFault::CrashBefore) => {
            session.crash();
            return session.hang(incarnation).await;
        }
        Some(RequestFault::Late) => {
            session.crash();
            tokio::spawn(arrive_late(session.clone(), target.clone(), place, parts, body));
            return session.hang(incarnation).await;
        }
        Some(RequestFault::LateByAStep) => {
            session.crash();
            let (run, target) = (session.clone(), target.clone());
            tokio::spawn(async move {
                let sent_in = run.step();
                while run.step() == sent_in {
                    tokio::time::sleep(Duration::from_secs(1)).await;
                }
                arrive_late(run, target, place, parts, body).await;
            });
            return session.hang(incarnation).await;
        }
        Some(RequestFault::OtherWriter) => touch(session, target, &parts, &place).await,
        _ => {}
    }
    let response = write(session, target, &place, parts, body).await?;
    match fault {
        Some(RequestFault::CrashAfter) => session.crash(),
        Some(RequestFault::Upgrade) => session.upgrade(),
        Some(RequestFault::CrashDown) => {
            session.held.send_replace(true);
            session.crash();
        }
        Some(RequestFault::Slow) => {
            tokio::time::sleep(SLOW).await;
            session.alive(incarnation).await;
        }
        Some(RequestFault::Lost) => return Err(io::ErrorKind::ConnectionReset.into()),
        _ => {}
    }
    Ok(response)
}

/// The answer of a fault that refuses a write.
fn injected(fault: RequestFault) -> Option<Response<Body>> {
    match fault {
        RequestFault::Conflict => {
            Some(refusal(409, "Conflict", "injected by verify: the object has been modified"))
        }
        RequestFault::TooManyRequests => {
            Some(refusal(429, "TooManyRequests", "injected by verify: too many requests"))
        }
        RequestFault::Refused => Some(refusal(500, "InternalError", "injected by verify: the write failed")),
        _ => None,
    }
}

/// What a request does. A creation has the name in its body; a generated one stands for all of its kind.
fn operation(session: &Session, target: &Target, parts: &Parts, body: &Bytes) -> Operation {
    let content_type = parts.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let verb = writing_verb(&parts.method, content_type.unwrap_or_default(), target);
    if verb != Verb::Create || !target.name.is_empty() {
        return target.operation(verb, &target.name, &session.names);
    }
    let object: Value = serde_json::from_slice(body).unwrap_or_default();
    let field = |field: &str| object["metadata"][field].as_str().unwrap_or_default().to_owned();
    let name = match field("name") {
        name if name.is_empty() => format!("{}*", field("generateName")),
        name => name,
    };
    target.operation(verb, &name, &session.names)
}

fn told(fault: RequestFault, place: &Place) -> String {
    match fault {
        RequestFault::CrashBefore => format!("the operator crashes before {place}"),
        RequestFault::CrashAfter => format!("the operator crashes after {place}"),
        RequestFault::CrashDown => {
            format!("the operator crashes after {place}, and stays down until the next step")
        }
        RequestFault::Lost => format!("the answer to {place} is lost"),
        RequestFault::Conflict => format!("{place} is refused with 409"),
        RequestFault::TooManyRequests => format!("{place} is refused with 429"),
        RequestFault::Refused => format!("{place} is refused with 500"),
        RequestFault::OtherWriter => format!("another writer changes the object before {place}"),
        RequestFault::Late | RequestFault::LateByAStep => {
            format!("{place} is held up in the network, and the operator is replaced")
        }
        RequestFault::Slow => format!("the answer to {place} takes 10 s"),
        RequestFault::Upgrade => format!("the old version crashes after {place}, and the new one starts"),
    }
}

/// Sends the write to the server and records what it did.
async fn write(
    session: &Session,
    target: &Target,
    place: &Place,
    parts: Parts,
    body: Bytes,
) -> io::Result<Response<Body>> {
    let dry_run = parts.uri.query().is_some_and(|query| query.contains("dryRun="));
    let guarded = place.operation.verb == Verb::Update || is_guarded(&body);
    let before = session.server.resource_version();
    let status = (session.notes_statuses && target.subresource == "status").then(|| {
        let name = target.object_name();
        (manager(&parts), session.object(&name).map(|mut object| object["status"].take()).unwrap_or_default())
    });
    let (head, body) = forward(session, parts, body).await?.into_parts();
    let bytes = body.collect().await?.to_bytes();
    let answer: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let changed =
        match answer["metadata"]["resourceVersion"].as_str().and_then(|text| text.parse::<u64>().ok()) {
            // What removes the last finalizer gets the object as it was, and it is gone.
            Some(version) => {
                version > before || is_removed(&answer) && session.server.resource_version() > before
            }
            // A `Status`, as after a deletion.
            None => session.server.resource_version() > before,
        };
    let effective = head.status.is_success() && changed && !dry_run;
    let object = match answer["metadata"]["name"].as_str() {
        Some(_) if answer["kind"] != "Status" => ObjectName::of(&target.resource, &answer),
        _ => target.object_name(),
    };
    if let Some((manager, before)) = status.filter(|_| effective) {
        let (object, step, after) = (object.clone(), session.step(), answer["status"].clone());
        let write = StatusWrite { object, manager, step, before, after };
        session.trace(|trace| trace.statuses.push(write));
    }
    let effect = if effective { "" } else { " (no effect)" };
    session.log_comparable(format!("{place} → {}{effect}", head.status.as_u16()));
    let orphan = effective && session.is_orphan(&answer);
    let (step, place, written) = (session.step(), place.clone(), place.to_string());
    let created = effective && head.status == StatusCode::CREATED && target.subresource.is_empty();
    let record = Write { place, object, effective, guarded, created, orphan, step, answer: Arc::new(answer) };
    session.trace(|trace| trace.writes.push(record));
    if effective {
        session.wrote(&written);
    }
    Ok(Response::from_parts(head, full(bytes)))
}

/// Who writes, as managed fields have it: what the request says, or the program of the user agent.
fn manager(parts: &Parts) -> String {
    let query = parts.uri.query().unwrap_or_default();
    let named = query.split('&').find_map(|option| option.strip_prefix("fieldManager=")).map(decoded);
    let agent = parts.headers.get(USER_AGENT).and_then(|agent| agent.to_str().ok()).unwrap_or_default();
    named.unwrap_or_else(|| agent.split('/').next().unwrap_or_default().to_owned())
}

/// Without percent encoding.
fn decoded(text: &str) -> String {
    let mut parts = text.split('%');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let letter = part.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.extend(letter);
        bytes.extend(part.as_bytes().iter().skip(if letter.is_some() { 2 } else { 0 }));
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Whether the object of an answer is gone: it was deleted, and nothing keeps it.
fn is_removed(object: &Value) -> bool {
    let metadata = &object["metadata"];
    !metadata["deletionTimestamp"].is_null() && metadata["finalizers"].as_array().is_none_or(Vec::is_empty)
}

/// Whether a body names a version or a uid: of an object, in the preconditions of a deletion, in a test of a JSON patch.
fn is_guarded(body: &Bytes) -> bool {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let version = body["metadata"]["resourceVersion"].as_str().is_some_and(|version| !version.is_empty());
    let tests = body.as_array().is_some_and(|patch| patch.iter().any(|operation| operation["op"] == "test"));
    version || tests || body["preconditions"].is_object()
}

/// The request of a process that was replaced meanwhile.
async fn arrive_late(session: Arc<Session>, target: Target, place: Place, parts: Parts, body: Bytes) {
    tokio::time::sleep(LATE).await;
    session.log(format!("{place} of the replaced process arrives"));
    // Nobody waits for the answer.
    drop(write(&session, &target, &place, parts, body).await);
}

/// Changes an annotation of the object, as another client would. Where there is no object, nothing has happened.
async fn touch(session: &Session, target: &Target, parts: &Parts, place: &Place) {
    let path = parts.uri.path().trim_end_matches('/');
    let subresource = format!("/{}", target.subresource);
    let path = match target.subresource.as_str() {
        "" => path,
        _ => path.strip_suffix(&subresource).unwrap_or(path),
    };
    let patch = json!({"metadata": {"annotations": {TOUCHED: "yes"}}});
    let uri = format!("{path}?fieldManager=verify");
    let (code, object) =
        call(&session.server, "PATCH", &uri, "application/merge-patch+json", Some(&patch)).await;
    match code {
        200..=299 => {
            session.touched(Touched { resource: target.resource.clone(), object, place: place.to_string() })
        }
        _ => session.unfire(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_names_a_version_may_be_refused_with_a_conflict() {
        let guarded = |body: &str| is_guarded(&Bytes::from(body.to_owned()));
        assert!(guarded(r#"{"metadata": {"resourceVersion": "7"}}"#));
        assert!(guarded(r#"{"preconditions": {"uid": "1"}}"#));
        assert!(guarded(r#"[{"op": "test", "path": "/metadata/uid", "value": "1"}]"#));
        assert!(!guarded(r#"[{"op": "add", "path": "/data", "value": {}}]"#));
        assert!(!guarded(r#"{"metadata": {"name": "a", "resourceVersion": ""}}"#));
        assert!(!guarded("kind: Page"));
    }

    #[test]
    fn the_manager_of_a_write_is_named_or_that_of_the_program() {
        let of = |uri: &str| {
            let request = http::Request::patch(uri).header(USER_AGENT, "pages/1.0 (linux)");
            manager(&request.body(()).unwrap().into_parts().0)
        };
        assert_eq!(of("/a"), "pages");
        assert_eq!(of("/a?force=true&fieldManager=pages%2fstatus%20of"), "pages/status of");
    }

    #[test]
    fn an_object_is_gone_when_its_last_finalizer_is() {
        let deleted = |finalizers: Value| {
            is_removed(
                &json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": finalizers}}),
            )
        };
        assert!(deleted(json!([])) && deleted(Value::Null));
        assert!(!deleted(json!(["a.example.com/b"])));
        assert!(!is_removed(&json!({"metadata": {"name": "a"}})));
    }
}
