//! Watches, which may be late or miss an event.

use std::{collections::VecDeque, io, sync::Arc};

use bytes::Bytes;
use futures::{
    StreamExt,
    stream::{self, BoxStream},
};
use http::Response;
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use serde_json::{Value, json};

use super::{
    answer::Body,
    session::{Lag, Session},
    target::Target,
};
use crate::{
    plan::{EventFault, EventPlace},
    state::qualified,
};

/// A response with a watch, whose events pass the faults.
pub(super) fn delayed(
    session: &Arc<Session>,
    incarnation: u64,
    target: &Target,
    query: &str,
    response: Response<Body>,
) -> Response<Body> {
    let (head, body) = response.into_parts();
    if !head.status.is_success() {
        return Response::from_parts(head, body);
    }
    let watch = Watch {
        session: session.clone(),
        incarnation,
        resource: target.resource.clone(),
        name: name(target, query),
        lines: body.into_data_stream().boxed(),
        ready: VecDeque::new(),
    };
    let lines = stream::unfold(watch, |mut watch| async move {
        let line = watch.next().await?;
        Some((line.map(Frame::data), watch))
    });
    Response::from_parts(head, StreamBody::new(lines).boxed_unsync())
}

pub(super) fn is_watch(query: &str) -> bool {
    query.split('&').any(|option| matches!(option, "watch=true" | "watch=1" | "watch"))
}

/// What tells a watch from the others of its resource: namespace and selectors.
fn name(target: &Target, query: &str) -> String {
    let selectors: Vec<&str> = query.split('&').filter(|option| option.contains("Selector=")).collect();
    let mut name = target.resource.clone();
    if !target.namespace.is_empty() {
        name += &format!(" in {}", target.namespace);
    }
    if !selectors.is_empty() {
        name += &format!("?{}", selectors.join("&"));
    }
    name
}

struct Watch {
    session: Arc<Session>,
    incarnation: u64,
    resource: String,
    name: String,
    lines: BoxStream<'static, io::Result<Bytes>>,
    /// Lines that come before those of the server.
    ready: VecDeque<Bytes>,
}

impl Watch {
    async fn next(&mut self) -> Option<io::Result<Bytes>> {
        loop {
            let line = match self.ready.pop_front() {
                Some(line) => return Some(Ok(line)),
                None => self.lines.next().await?,
            };
            self.session.alive(self.incarnation).await;
            if let Some((_, until)) = self.session.old_cache() {
                tokio::time::sleep_until(until).await;
            }
            let Ok(line) = line else { return Some(line) };
            let event: Value = serde_json::from_slice(&line).unwrap_or_default();
            let kind = event["type"].as_str().unwrap_or_default().to_lowercase();
            if !matches!(kind.as_str(), "added" | "modified" | "deleted") {
                return Some(Ok(line));
            }
            let object = self.object_of(&event);
            let place = EventPlace { kind, watch: self.name.clone(), object: object.clone(), nth: 0 };
            let told = format!("{} {} of watch {}", place.kind, place.object, place.watch);
            match self.session.event(place) {
                None => return Some(Ok(line)),
                Some((EventFault::Unseen, lag)) => {
                    self.session.log(format!(
                        "FAULT: {told} is not seen: the watch breaks, and is back after the next change"
                    ));
                    self.skip(line, &object, lag).await;
                }
                Some((fault, lag)) => {
                    let time = fault.lag();
                    self.session.log(format!("FAULT: the watch is {} s late from {told}", time.as_secs()));
                    self.wait(lag).await;
                    return Some(Ok(line));
                }
            }
        }
    }

    async fn wait(&mut self, lag: Lag) {
        tokio::time::sleep_until(lag.until).await;
        drop(lag);
        self.session.alive(self.incarnation).await;
        self.session.log(format!("the watch of {} goes on", self.name));
    }

    /// Holds everything back until the next event of this object. Then the version is too old, and a new list shows the later state.
    async fn skip(&mut self, first: Bytes, object: &str, lag: Lag) {
        let mut held = VecDeque::from([first]);
        while let Ok(Some(Ok(line))) = tokio::time::timeout_at(lag.until, self.lines.next()).await {
            let event: Value = serde_json::from_slice(&line).unwrap_or_default();
            if event["type"] == "BOOKMARK" {
                continue;
            }
            if self.object_of(&event) == *object {
                let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
                    "message": "too old resource version", "reason": "Expired", "code": 410});
                let gone = json!({"type": "ERROR", "object": status});
                held = VecDeque::from([Bytes::from(format!("{gone}\n"))]);
                break;
            }
            held.push_back(line);
        }
        drop(lag);
        self.session.alive(self.incarnation).await;
        self.session.log(format!("the watch of {} is back", self.name));
        self.ready = held;
    }

    fn object_of(&self, event: &Value) -> String {
        let text = |field: &str| event["object"]["metadata"][field].as_str().unwrap_or_default();
        qualified(text("namespace"), &self.session.names.template(&self.resource, text("name")))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures::{FutureExt, future::join};
    use http::Request;
    use http_body_util::Full;
    use kube_testserver::ApiServer;
    use tokio::time::Instant;
    use tower::ServiceExt;

    use super::*;
    use crate::{gate::ApiService, kinds::Kinds, panics::TestFailure, state::Names};

    #[tokio::test(start_paused = true)]
    async fn a_lag_ends_when_its_watch_is_dropped() {
        for plan in ["lag of 600 s from", "unseen"] {
            let server = ApiServer::new();
            server.load("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n").unwrap();
            let kinds = Kinds::discover(&server).await;
            let plan = format!("{plan} added a #1 of watch configmaps").parse().unwrap();
            let (names, failure) = (Names::default(), TestFailure::default());
            let session = Session::new(server, names, kinds, &plan, Arc::from([]), failure);
            let request = Request::get("/api/v1/configmaps?watch=true&resourceVersion=0");
            let service = ApiService::new(&session, session.incarnation());
            let mut body =
                service.oneshot(request.body(Full::new(Bytes::new())).unwrap()).await.unwrap().into_body();
            assert!(body.frame().now_or_never().is_none() && session.lag_until().is_some(), "{plan}");
            let begun = Instant::now();
            let drops = async {
                tokio::time::sleep(Duration::from_secs(60)).await;
                drop(body);
            };
            assert!(join(session.pass_lag(), drops).await.0, "{plan}");
            assert_eq!((begun.elapsed(), session.lag_until()), (Duration::from_secs(60), None), "{plan}");
            assert!(!session.pass_lag().await, "{plan}");
        }
    }

    #[test]
    fn watches_are_told_apart_by_namespace_and_selectors() {
        let target = Target::of("/api/v1/namespaces/shop/pods").unwrap();
        assert_eq!(
            name(&target, "watch=true&labelSelector=app%3Da&timeoutSeconds=290"),
            "pods in shop?labelSelector=app%3Da"
        );
        assert_eq!(name(&Target::of("/api/v1/pods").unwrap(), "watch=true"), "pods");
    }
}
