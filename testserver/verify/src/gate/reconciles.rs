//! The reconciles of an operator on the controllers of this workspace, in the timeline: which object, why, in which attempt, and what they
//! see that is not so any more.

use std::sync::{Arc, Weak};

use kube_core::reconcile::{Observed, ReconcileMark, ReconcileObserver, StoreRead, observe_thread};
use serde_json::Value;
use tokio::time::Instant;

use super::session::Session;

/// Writes the reconciles of one process of the operator into the timeline.
struct Reconciles {
    session: Weak<Session>,
    incarnation: u64,
}

/// From now on, the controllers that start are those of the process that lives.
pub(crate) fn observe(session: &Arc<Session>) {
    let observer = Reconciles { session: Arc::downgrade(session), incarnation: session.incarnation() };
    drop(observe_thread(Some(Arc::new(observer))));
}

impl ReconcileObserver for Reconciles {
    fn observe(&self, reconcile: &ReconcileMark, what: &Observed<'_>) {
        let session = self.session.upgrade().filter(|session| session.incarnation() == self.incarnation);
        let Some(session) = session else { return };
        match what {
            Observed::Started { reason, attempt, object } => {
                let attempt = if *attempt > 1 { format!(", attempt {attempt}") } else { String::new() };
                let seen = session.behind(object).map(|how| format!(", with an object that is {how}"));
                session.log(format!("{reconcile} starts: {reason}{attempt}{}", seen.unwrap_or_default()));
            }
            Observed::Ended { outcome: outcome @ ("error" | "panic" | "timeout") } => {
                session.log(format!("{reconcile} has ended: {outcome}"));
            }
            Observed::Read(read) => {
                let Some(how) = session.behind(read) else { return };
                let (_, name) = read.object.as_ref().map_or((&None, ""), |(space, name)| (space, name));
                session.log(format!("{reconcile} reads {} {name} from a store, where it is {how}", read.plural));
            }
            _ => {}
        }
    }
}

impl Session {
    /// How an object of a store differs from that of the cluster, while a watch is late.
    fn behind(&self, read: &StoreRead) -> Option<&'static str> {
        self.lag_until().filter(|until| *until > Instant::now())?;
        let (namespace, name) = read.object.as_ref()?;
        let is_it = |object: &Value| {
            let meta = &object["metadata"];
            meta["name"].as_str() == Some(name) && meta["namespace"].as_str() == namespace.as_deref()
        };
        let now = self.server.objects(&read.group, &read.plural)?.into_iter().find(is_it);
        let version = now.as_ref().and_then(|now| now["metadata"]["resourceVersion"].as_str());
        match (read.resource_version.as_deref(), version) {
            (Some(_), None) => Some("deleted already"),
            (None, Some(_)) => Some("missing yet"),
            (seen, now) => (seen != now).then_some("older than in the cluster"),
        }
    }
}
