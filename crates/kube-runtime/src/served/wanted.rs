//! Who waits for which kind, and what is known of each.

use super::{
    availability::{Discovered, Finding, KnownKind, ServedAs},
    schedule::Answer,
};
use crate::{metrics, unwind::catch_panic};
use kube_client::{Client, discovery::RestMapper};
use kube_core::discovery::Scope;
use parking_lot::Mutex;
use std::time::Duration;
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

/// A kind that somebody waits for, or has asked for lately.
pub(super) struct Wanted {
    pub(super) known: KnownKind,
    pub(super) state: watch::Sender<Option<State>>,
    /// When somebody asked for it first.
    pub(super) asked: Instant,
    /// When it was known last that somebody uses it.
    used: Instant,
    /// Since when all answers have been that it is missing, although it was served.
    doubted: Option<Instant>,
    /// When a definition of its group was deleted, since it was found.
    deleted: Option<Instant>,
    /// What the log says of it.
    told: Option<Finding>,
}

/// How long a kind is kept that nobody waits for: longer than most programs take until they ask again, such as in each reconcile of a rare
/// object, which would find no answer.
const UNUSED: Duration = Duration::from_secs(24 * 3600);

/// How long after a deletion one answer is enough. All API servers know it then.
const DELETION: Duration = Duration::from_secs(15);

/// How long the answer that a kind is missing has to be repeated until one that was served counts as gone, if no deletion was seen: of
/// several API servers, one may lag behind.
const DOUBT: Duration = Duration::from_secs(3);

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

    /// A definition of this group was deleted.
    pub(super) fn deleted(&self, group: &str) {
        let mut wanted = self.wanted.lock();
        wanted
            .iter_mut()
            .filter(|it| it.known.is_of_group(group))
            .for_each(|it| it.deleted = Some(Instant::now()));
    }

    /// Discovery has answered. Returns whether that is all that has to be known now.
    pub(super) fn answered(&self, discovered: &impl Discovered) -> Answer {
        let now = Instant::now();
        let mut answer = Answer::AllServed;
        let mut wanted = self.wanted.lock();
        wanted.retain_mut(|wanted| wanted.is_used(now));
        let mut changes = Vec::new();
        for it in &mut *wanted {
            let before = it.state.borrow().clone();
            let finding = it.known.find(discovered);
            let is_doubtful = it.doubts(before.as_ref(), &finding, now);
            answer = answer.max(match &finding {
                Finding::Served(_) => Answer::AllServed,
                _ if is_doubtful => Answer::Unclear,
                Finding::Mismatch(_) | Finding::Missing(_) => Answer::SomeMissing,
                Finding::Unknown(_) => Answer::Unclear,
            });
            if is_doubtful {
                continue;
            }
            let next = State::next(before.clone(), finding, now);
            if before.is_none_or(|before| before.finding != next.finding) {
                changes.push((it.known.name(), it.tell(&next.finding), next.finding.clone()));
                it.state.send_replace(Some(next));
            }
        }
        // Parts of a program may know different versions of one kind: the gauge says whether any of them waits.
        let is_served = |kind: &String| {
            let mut same = wanted.iter().filter(|it| it.known.name() == *kind);
            same.all(|it| it.state.borrow().as_ref().is_some_and(State::is_served))
        };
        let gauges: Vec<bool> = changes.iter().map(|(kind, ..)| is_served(kind)).collect();
        drop(wanted);
        // Not under the lock: loggers and recorders are code of the program.
        for ((kind, told, now), is_served) in changes.iter().zip(gauges) {
            // After a panic the task goes on.
            let _panic = catch_panic(|| {
                metrics::kind_served(kind, is_served);
                report(kind, told.as_ref(), now);
            });
        }
        answer
    }
}

impl Wanted {
    pub(super) fn new(known: KnownKind, state: watch::Sender<Option<State>>) -> Self {
        let now = Instant::now();
        Self { known, state, asked: now, used: now, doubted: None, deleted: None, told: None }
    }

    /// Somebody asks for it now.
    pub(super) fn subscribe(&mut self) -> watch::Receiver<Option<State>> {
        self.used = Instant::now();
        self.state.subscribe()
    }

    /// Whether somebody waits for it, or has asked for it lately.
    pub(super) fn is_used(&mut self, now: Instant) -> bool {
        if self.state.receiver_count() > 0 {
            self.used = now;
        }
        now < self.used + UNUSED
    }

    /// What the log says until now. That a group cannot be looked up changes nothing in it.
    fn tell(&mut self, now: &Finding) -> Option<Finding> {
        let before = self.told.clone();
        if before.is_none() || !matches!(now, Finding::Unknown(_)) {
            self.told = Some(now.clone());
        }
        before
    }

    /// Whether a kind that the server had is missing, or another one, only perhaps.
    fn doubts(&mut self, before: Option<&State>, finding: &Finding, now: Instant) -> bool {
        let was_served = before.is_some_and(State::is_served);
        let existed = was_served || before.is_some_and(|it| matches!(it.finding, Finding::Mismatch(_)));
        let is_less = match finding {
            Finding::Missing(_) => existed,
            Finding::Mismatch(_) => was_served,
            Finding::Served(_) | Finding::Unknown(_) => false,
        };
        if !is_less {
            self.doubted = None;
            self.deleted = self.deleted.filter(|_| existed);
            return false;
        }
        let since = *self.doubted.get_or_insert(now);
        let is_deleted = self.deleted.is_some_and(|deleted| now < deleted + DELETION);
        let doubts = !is_deleted && now < since + DOUBT;
        self.doubted = self.doubted.filter(|_| doubts);
        doubts
    }
}

impl State {
    pub(super) fn is_served(&self) -> bool {
        matches!(self.finding, Finding::Served(_))
    }

    fn next(before: Option<Self>, finding: Finding, now: Instant) -> Self {
        match (before, finding) {
            // What cannot be looked up is not gone.
            (
                Some(before @ Self { finding: Finding::Served(_) | Finding::Mismatch(_), .. }),
                Finding::Unknown(_),
            ) => before,
            (Some(before), finding) => {
                let was_served = before.is_served();
                let is_served = matches!(finding, Finding::Served(_));
                let since = if was_served == is_served { before.since } else { now };
                Self { finding, since }
            }
            (None, finding) => Self { finding, since: now },
        }
    }
}

/// Logs a change, once, unless it was `told`. That an optional kind is missing is no fault, nor is its end, which someone wanted; what the
/// program cannot use is.
fn report(kind: &str, told: Option<&Finding>, now: &Finding) {
    match (told, now) {
        (Some(Finding::Served(before)), Finding::Served(now)) => {
            let (before, now) = (describe(before), describe(now));
            tracing::error!(
                kind,
                "the kind was served as {before} and is now {now}: what uses it is started again"
            );
        }
        (_, Finding::Served(now)) => tracing::info!(kind, "the kind is served as {}", describe(now)),
        (_, Finding::Mismatch(reason)) => {
            tracing::error!(kind, reason, "the kind cannot be used: what uses it waits until it can");
        }
        (Some(Finding::Served(_)), Finding::Missing(reason)) => {
            tracing::warn!(
                kind,
                reason,
                "the kind is not served any more: what uses it stops until it returns"
            );
        }
        (Some(Finding::Missing(_)), Finding::Missing(reason)) | (Some(_), Finding::Unknown(reason)) => {
            tracing::debug!(kind, reason, "the kind is still not served");
        }
        (_, Finding::Missing(reason)) => {
            tracing::info!(kind, reason, "the kind is not served: what uses it waits for it");
        }
        (None, Finding::Unknown(reason)) => {
            tracing::info!(
                kind,
                reason,
                "it is not known whether the kind is served: what uses it waits for it"
            );
        }
    }
}

fn describe(served: &ServedAs) -> String {
    let scope = if served.scope == Scope::Cluster { "cluster-scoped" } else { "namespaced" };
    format!("{} ({scope})", served.resource.api_version)
}
