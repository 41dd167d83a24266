//! Faults that come between two steps.

use std::time::Duration;

use super::{course::Run, times::QUIET};
use crate::{
    finding::{Finding, Oracle},
    gate::{call, take_leases},
    plan::StepFault,
    state::ObjectName,
};

/// How long a webhook that fails does so.
const WEBHOOK_AWAY: Duration = Duration::from_secs(20);

impl Run<'_> {
    /// A fault between two steps; false if it ended in a finding.
    pub(super) async fn inject(&mut self, fault: StepFault, at: usize) -> bool {
        let session = self.session.clone();
        match fault {
            StepFault::Restart => {
                session.fire();
                let before = self.effective();
                session.log("FAULT: the operator is restarted while nothing is to do");
                session.crash();
                self.pass(QUIET).await;
                let writes = self.writes_since(before);
                if !writes.is_empty() {
                    let what = format!("a restart after step {at} writes: {}", writes.join(", "));
                    self.outcome.findings.push(Finding::new(Oracle::Restart, what));
                }
            }
            StepFault::Down => {
                session.fire();
                session.log("FAULT: the operator is down until the next step");
                session.held.send_replace(true);
                session.crash();
                self.pass(Duration::from_secs(1)).await;
                // Judged after the next step.
                return true;
            }
            StepFault::StaleRestart => {
                session.fire();
                session.log("FAULT: the operator is restarted onto a cache from before the step");
                let version = at.checked_sub(1).and_then(|at| self.versions.get(at)).copied().unwrap_or(1);
                session.show_old_cache(version, Duration::from_secs(60));
                session.crash();
                self.pass(Duration::from_secs(61) + QUIET).await;
            }
            StepFault::LostLease => {
                // The next step comes while the other process leads.
                take_leases(&session, self.begun_at).await;
                return true;
            }
            StepFault::WebhookAway => {
                session.log(format!("FAULT: calls of webhooks fail for {} s", WEBHOOK_AWAY.as_secs()));
                self.world.webhooks().fail_for(WEBHOOK_AWAY);
                // The next step comes meanwhile.
                return true;
            }
            StepFault::Evicted => self.evict_pod().await,
            StepFault::Upgrade => {
                session.fire();
                session.log("FAULT: the new version takes the place of the old one");
                session.upgrade();
                self.pass(QUIET).await;
            }
        }
        self.outcome.steps.pop();
        self.reach(at).await
    }

    /// Notes calls of webhooks: that a step makes some, and the first that a fault has refused.
    pub(super) fn note_webhooks(&self, at: usize) {
        let webhooks = self.world.webhooks();
        if webhooks.take_called() {
            self.session.trace(|trace| trace.webhooks_in.insert(at));
        }
        if webhooks.take_refused() {
            self.session.fire();
        }
    }

    /// The same at the end, and which were never called.
    pub(super) fn note_all_webhooks(&self, at: usize) {
        self.note_webhooks(at);
        let never = self.world.webhooks().never_called();
        self.session.trace(|trace| trace.webhooks_never_called = never);
    }

    /// Deletes the first pod that someone makes again, as an eviction does.
    async fn evict_pod(&mut self) {
        let Some(pod) = self.session.evictable_pods().into_iter().next() else { return };
        self.session.fire();
        let path = format!("/api/v1/namespaces/{}/pods/{}", pod.namespace, pod.name);
        self.session.log(format!("FAULT: the pod {} is evicted", pod.name));
        call(&self.session.server, "DELETE", &path, "application/json", None).await;
        let name = self.known.names.template("pods", &pod.name);
        self.evicted = Some(ObjectName { name, ..pod }.to_string());
        self.pass(QUIET).await;
    }
}
