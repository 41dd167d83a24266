//! Leases: what the operator asks about them, and another process that leads.

use std::{io, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{Method, Response, request::Parts};
use http_body_util::BodyExt;
use jiff::Timestamp;
use serde_json::json;
use tokio::time::{Instant, sleep};

use super::{
    answer::{Body, call, forward, full},
    session::Session,
    target::Target,
    watch::is_watch,
};

/// How long a leader may take until it has noticed that it leads no more.
const GRACE: Duration = Duration::from_secs(20);
/// How long the other process leads after that.
const LEADS: Duration = Duration::from_secs(60);
/// How often it renews the Leases.
const RENEWS: Duration = Duration::from_secs(2);

/// A request of the operator.
pub(super) async fn respond(
    session: &Session,
    target: &Target,
    parts: Parts,
    body: Bytes,
) -> io::Result<Response<Body>> {
    let (renewals, server) = (&session.renewals, &session.server);
    let is_dry_run = parts.uri.query().is_some_and(|query| query.contains("dryRun="));
    let is_replaced = parts.method == Method::PUT && target.subresource.is_empty() && !is_dry_run;
    if is_replaced && let Some((head, answer)) = renewals.answer(server, &parts, &body) {
        return Ok(Response::from_parts(head, full(answer)));
    }
    renewals.write(server);
    if parts.method == Method::GET {
        if is_watch(parts.uri.query().unwrap_or_default()) {
            renewals.end(server);
        } else {
            renewals.are_read();
        }
        return forward(session, parts, body).await;
    }
    let uri = parts.uri.clone();
    let body = renewals.meant(uri.path(), body);
    let (head, body) = forward(session, parts, body).await?.into_parts();
    let answer = body.collect().await?.to_bytes();
    if is_replaced {
        renewals.accepted(server, uri, &head, &answer);
    }
    Ok(Response::from_parts(head, full(answer)))
}

/// Another process takes the Leases of the operator, and holds them for a minute after this has returned. `begun_at` is the time of the
/// server at the begin of the run.
pub(crate) async fn take_leases(session: &Arc<Session>, begun_at: Timestamp) {
    let leases = session.trace(|trace| trace.leases.clone());
    if leases.is_empty() {
        return;
    }
    session.write_renewals();
    session.fire();
    let until = Instant::now() + GRACE + LEADS;
    for lease in leases {
        session.log(format!("FAULT: another process takes {lease}"));
        tokio::spawn(hold(session.clone(), lease, begun_at, until));
    }
    session.pass(GRACE).await;
    session.another_leads_until(until);
}

async fn hold(session: Arc<Session>, lease: String, begun_at: Timestamp, until: Instant) {
    while Instant::now() < until {
        let now = begun_at.saturating_add(session.started.elapsed()).unwrap_or(begun_at);
        let renewed = now.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string();
        let spec = json!({"spec": {"holderIdentity": "another-process", "renewTime": renewed}});
        call(&session.server, "PATCH", &lease, "application/merge-patch+json", Some(&spec)).await;
        sleep(RENEWS).await;
    }
    session.log(format!("the other process leaves {lease}"));
}
