//! Another process that leads.

use std::{sync::Arc, time::Duration};

use jiff::Timestamp;
use serde_json::json;
use tokio::time::{Instant, sleep};

use super::{answer::call, session::Session};

/// How long a leader may take until it has noticed that it leads no more.
const GRACE: Duration = Duration::from_secs(20);
/// How long the other process leads after that.
const LEADS: Duration = Duration::from_secs(60);
/// How often it renews the Leases.
const RENEWS: Duration = Duration::from_secs(2);

/// Another process takes the Leases of the operator, and holds them for a minute after this has returned. `begun_at` is the time of the
/// server at the begin of the run.
pub(crate) async fn take_leases(session: &Arc<Session>, begun_at: Timestamp) {
    let leases = session.trace(|trace| trace.leases.clone());
    if leases.is_empty() {
        return;
    }
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
