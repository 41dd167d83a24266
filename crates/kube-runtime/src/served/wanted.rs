//! Who waits for which kind, and what is known of each.

use super::availability::{Discovered, Finding, KnownKind, ServedAs};
use crate::metrics;
use kube_client::{Client, discovery::RestMapper};
use kube_core::discovery::Scope;
use parking_lot::Mutex;
use tokio::{
    sync::{Notify, watch},
    time::Instant,
};

/// What the task and those who wait share.
pub(super) struct Shared {
    pub(super) client: Client,
    pub(super) mapper: RestMapper,
    /// A kind was asked for that discovery has not answered yet.
    pub(super) asked: Notify,
    pub(super) wanted: Mutex<Vec<Wanted>>,
}

/// A kind that somebody waits for.
pub(super) struct Wanted {
    pub(super) known: KnownKind,
    pub(super) state: watch::Sender<Option<State>>,
}

/// What is known of a kind since when.
#[derive(Clone, Debug)]
pub(super) struct State {
    pub(super) finding: Finding,
    pub(super) since: Instant,
}

impl Shared {
    /// Whether somebody waits for a kind of this group.
    pub(super) fn wants(&self, group: &str) -> bool {
        self.wanted.lock().iter().any(|wanted| wanted.known.is_of_group(group))
    }

    /// Discovery has answered.
    pub(super) fn answered(&self, discovered: &impl Discovered) {
        let now = Instant::now();
        let mut wanted = self.wanted.lock();
        wanted.retain(|wanted| wanted.state.receiver_count() > 0);
        let mut changes = Vec::new();
        for Wanted { known, state } in &*wanted {
            let before = state.borrow().clone();
            let next = State::next(before.clone(), known.find(discovered), now);
            let before = before.map(|before| before.finding);
            if before.as_ref() != Some(&next.finding) {
                changes.push((known.name(), before, next.finding.clone()));
                state.send_replace(Some(next));
            }
        }
        drop(wanted);
        // Not under the lock: loggers and recorders are code of the program.
        changes.iter().for_each(|(kind, before, now)| report(kind, before.as_ref(), now));
    }
}

impl State {
    fn next(before: Option<Self>, finding: Finding, now: Instant) -> Self {
        match (before, finding) {
            // What cannot be looked up is not gone.
            (Some(before @ Self { finding: Finding::Served(_), .. }), Finding::Unknown(_)) => before,
            (Some(before), finding) => {
                let was_served = matches!(before.finding, Finding::Served(_));
                let is_served = matches!(finding, Finding::Served(_));
                let since = if was_served == is_served { before.since } else { now };
                Self { finding, since }
            }
            (None, finding) => Self { finding, since: now },
        }
    }
}

/// Logs a change, and sets the gauge.
fn report(kind: &str, before: Option<&Finding>, now: &Finding) {
    metrics::kind_served(kind, matches!(now, Finding::Served(_)));
    match (before, now) {
        (Some(Finding::Served(before)), Finding::Served(now)) => {
            let (before, now) = (describe(before), describe(now));
            tracing::error!(
                kind,
                "the kind was served as {before} and is now {now}: what uses it is started again"
            );
        }
        (_, Finding::Served(now)) => tracing::info!(kind, "the kind is served as {}", describe(now)),
        (Some(Finding::Served(_)), Finding::Missing(reason) | Finding::Unknown(reason)) => {
            tracing::error!(
                kind,
                reason,
                "the kind is not served any more: what uses it stops until it returns"
            );
        }
        (_, Finding::Missing(reason) | Finding::Unknown(reason)) => {
            tracing::warn!(kind, reason, "the kind is not served: what uses it waits for it");
        }
    }
}

fn describe(served: &ServedAs) -> String {
    let scope = if served.scope == Scope::Cluster { "cluster-scoped" } else { "namespaced" };
    format!("{} ({scope})", served.resource.api_version)
}
