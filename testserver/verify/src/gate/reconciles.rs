//! The reconciles of an operator on the controllers of this workspace, in the timeline: which object, why, in which attempt, and what they
//! see that is not so any more.

use std::sync::{
    Arc, Weak,
    atomic::{AtomicUsize, Ordering},
};

use kube_core::reconcile::{Observed, ReconcileMark, ReconcileObserver, StoreRead, observe_thread};
use tokio::time::Instant;

use super::session::Session;
use crate::{kinds::resource, state::ObjectName};

/// Writes the reconciles of one process of the operator into the timeline.
struct Reconciles {
    session: Weak<Session>,
    incarnation: u64,
    told: AtomicUsize,
}

/// How many lines the reconciles of one process may have: some poll each millisecond.
const MOST: usize = 5000;

/// From now on, the controllers that start are those of the process that lives.
pub(crate) fn observe(session: &Arc<Session>) {
    drop(observe_thread(Some(Arc::new(Reconciles::of(session)))));
}

impl Reconciles {
    fn of(session: &Arc<Session>) -> Self {
        let (incarnation, told) = (session.incarnation(), AtomicUsize::new(0));
        Self { session: Arc::downgrade(session), incarnation, told }
    }

    fn tell(&self, session: &Session, what: String) {
        match self.told.fetch_add(1, Ordering::Relaxed) {
            ..MOST => session.log(what),
            MOST => session.log("the process has reconciled so often that the rest is not told"),
            _ => {}
        }
    }
}

impl ReconcileObserver for Reconciles {
    fn observe(&self, reconcile: &ReconcileMark, what: &Observed<'_>) {
        let session = self.session.upgrade().filter(|session| session.incarnation() == self.incarnation);
        let Some(session) = session else { return };
        match what {
            Observed::Started { reason, attempt, object } => {
                let attempt = if *attempt > 1 { format!(", attempt {attempt}") } else { String::new() };
                let seen = session.behind(object).map(|how| format!(", with an object that is {how}"));
                let seen = seen.unwrap_or_default();
                self.tell(&session, format!("{reconcile} starts: {reason}{attempt}{seen}"));
            }
            Observed::Ended { outcome: outcome @ ("error" | "panic" | "timeout") } => {
                self.tell(&session, format!("{reconcile} has ended: {outcome}"));
            }
            Observed::Read(read) => {
                let Some(how) = session.behind(read) else { return };
                let (_, name) = read.object.as_ref().map_or((&None, ""), |(space, name)| (space, name));
                let what =
                    format!("{reconcile} reads {} {name} from a store, where it is {how}", read.plural);
                self.tell(&session, what);
            }
            _ => {}
        }
    }
}

impl Session {
    /// How an object of a store differs from that of the cluster, while a watch is late.
    fn behind(&self, read: &StoreRead) -> Option<&'static str> {
        self.lag_until().filter(|until| *until > Instant::now())?;
        let (namespace, name) = read.object.clone()?;
        let (resource, namespace) = (resource(&read.plural, &read.group), namespace.unwrap_or_default());
        let now = self.object(&ObjectName { resource, namespace, name });
        let version = now.as_ref().and_then(|now| now["metadata"]["resourceVersion"].as_str());
        match (read.resource_version.as_deref(), version) {
            (Some(_), None) => Some("deleted already"),
            (None, Some(_)) => Some("missing yet"),
            (seen, now) => (seen != now).then_some("older than in the cluster"),
        }
    }
}

#[cfg(test)]
mod tests {
    use kube_testserver::ApiServer;

    use super::*;
    use crate::{
        kinds::Kinds,
        panics::TestFailure,
        plan::{EventPlace, Plan},
        state::Names,
    };

    #[tokio::test(start_paused = true)]
    async fn reconciles_are_told_with_what_they_see_of_the_past() {
        let server = ApiServer::new();
        server.load("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n").unwrap();
        let kinds = Kinds::discover(&server).await;
        let plan: Plan = "lag of 20 s from added a #1 of watch configmaps".parse().unwrap();
        let failure = TestFailure::default();
        let session = Session::new(server, Names::default(), kinds, &plan, Arc::from([]), failure);
        let observer = Reconciles::of(&session);
        let mark = ReconcileMark::new("maps", Some("default"), "a");
        let seen = |version: Option<&str>, name: &str| {
            StoreRead::of_object("", "configmaps", Some("default"), name, version.map(str::to_owned))
        };
        let read = |version, name| observer.observe(&mark, &Observed::Read(seen(version, name)));
        read(Some("1"), "a"); // no watch is late
        let words = |text: &str| text.to_owned();
        let (kind, watch, object) = (words("added"), words("configmaps"), words("a"));
        let _lag = session.event(EventPlace { kind, watch, object, nth: 0 });
        let object = seen(Some("1"), "a");
        observer.observe(&mark, &Observed::Started { reason: "object updated", attempt: 2, object });
        read(None, "a");
        read(Some("1"), "b");
        observer.observe(&mark, &Observed::Ended { outcome: "error" });
        observer.observe(&mark, &Observed::Ended { outcome: "success" });
        observer.told.store(MOST, Ordering::Relaxed);
        observer.observe(&mark, &Observed::Ended { outcome: "error" });
        observer.observe(&mark, &Observed::Ended { outcome: "error" });
        session.crash();
        read(None, "a"); // by a dead process
        let lines = session.take_trace().lines;
        let lines: Vec<_> =
            lines.iter().map(|line| line.text.trim_start_matches("the reconcile of ")).collect();
        let expected = [
            "default/a in maps starts: object updated, attempt 2, with an object that is older than in the cluster",
            "default/a in maps reads configmaps a from a store, where it is missing yet",
            "default/a in maps reads configmaps b from a store, where it is deleted already",
            "default/a in maps has ended: error",
            "the process has reconciled so often that the rest is not told",
        ];
        assert_eq!(lines, expected);
    }
}
