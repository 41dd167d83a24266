//! The life of one cluster, from its announcement to its end. No I/O, no clock: inputs and time lead to effects.

use super::{
    phase::{Afterwards, Phase, Then},
    places::Attempt,
    status::ClusterState,
};
use std::time::Duration;
use tokio::time::Instant;

/// How long a cluster that does not answer may keep a place from others.
const FIRST_ANSWER: Duration = Duration::from_secs(2);
/// How long the first lists may keep a place from others.
const FIRST_LISTS: Duration = Duration::from_secs(30);
/// How long a watch may fail before the cluster counts as unreachable: servers restart.
const TOLERATED: Duration = Duration::from_secs(3);
/// The waits between attempts to connect, and between starts of controllers that ended.
pub(super) const FIRST_WAIT: Duration = Duration::from_secs(1);
pub(super) const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// What the supervisor does for a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    /// Ask for a place to start in, which the unit does not have and did not ask for.
    AskPlace(Attempt),
    /// The place, or the wish for one, is over.
    LeavePlace,
    /// So is the place, while the attempt to connect goes on.
    LendPlace,
    /// Connect with the announced configuration, and ask the cluster who it is.
    Connect,
    /// Run the controllers.
    Start,
    /// Use the announced credentials.
    Exchange,
    /// Tell the controllers to stop.
    Stop,
    /// Abort what did not stop in time.
    Abort,
    /// Find out what goes on although it was aborted.
    FindBlocked,
    /// The cluster was removed and nothing runs on it: let the program clean up there.
    CleanUp,
    /// It was announced again, or removed: what has not begun to clean up does not begin, and says so.
    WithdrawCleanUp,
    /// The cluster has left: forget all of it.
    Forget,
}

/// Why a cluster does not work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fault {
    Unreachable(String),
    Forbidden(String),
    /// It cannot work as it is.
    Failed(String),
}

/// What its controllers show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Look {
    /// Whether all first lists are complete.
    pub(crate) synced: bool,
    /// Why a watch fails now.
    pub(crate) fault: Option<Fault>,
}

/// One cluster.
#[derive(Debug)]
pub(super) struct Unit {
    phase: Phase,
    grace_period: Duration,
    /// Attempts that failed in a row.
    failures: u32,
    /// The fault that lasts, and since when.
    fault: Option<(Fault, Instant)>,
    /// The first fault since it was in sync without one. An attempt that gets further does not end that.
    failing_since: Option<Instant>,
    /// What stops was aborted.
    is_aborted: bool,
    /// Why it does not stop although it was aborted.
    blocked: Option<String>,
    /// Since when it has the state that it shows.
    shown: (ClusterState, Instant),
}

impl Unit {
    /// A cluster that was announced now. Its first effect is [`Effect::AskPlace`].
    pub(super) fn new(grace_period: Duration, now: Instant) -> (Self, Vec<Effect>) {
        let (phase, shown) = (Phase::Waiting, (ClusterState::Connecting, now));
        (
            Self {
                phase,
                grace_period,
                failures: 0,
                fault: None,
                failing_since: None,
                is_aborted: false,
                blocked: None,
                shown,
            },
            vec![Effect::AskPlace(Attempt::First)],
        )
    }

    /// It was announced again, with another configuration perhaps.
    pub(super) fn announced(&mut self, now: Instant) -> Vec<Effect> {
        let effects = match self.phase {
            Phase::Waiting => vec![],
            // The response to the first attempt does not count any more.
            Phase::Connecting { .. } => vec![Effect::Connect],
            Phase::Answered => {
                self.phase = Phase::Waiting;
                vec![]
            }
            Phase::BackingOff { .. } | Phase::Stuck => {
                self.phase = Phase::Waiting;
                vec![Effect::AskPlace(Attempt::Again)]
            }
            Phase::Running { .. } => vec![Effect::Exchange],
            Phase::Stopping { until, then } => {
                let then = match then {
                    Then::Leave | Then::StartAnew => Then::StartAnew,
                    Then::CleanUpAndStartAnew => Then::CleanUpAndStartAnew,
                    Then::Retry | Then::Stick => Then::Retry,
                };
                self.phase = Phase::Stopping { until, then };
                vec![]
            }
            Phase::CleaningUp { .. } => self.withdraw(Afterwards::StartAnew),
            Phase::Left => vec![],
        };
        self.settle(now);
        effects
    }

    /// It was announced again as before: an attempt that runs goes on, and the next one is not earlier.
    pub(super) fn repeated(&mut self, now: Instant) -> Vec<Effect> {
        match self.phase {
            Phase::Waiting | Phase::Connecting { .. } | Phase::Answered => vec![],
            Phase::BackingOff { .. } | Phase::Stuck => vec![],
            Phase::Stopping { then: Then::Retry | Then::Stick, .. } => vec![],
            _ => self.announced(now),
        }
    }

    /// It was announced at another address than its client has. If it leaves, what it was has to be cleaned up before.
    pub(super) fn announced_elsewhere(&mut self, now: Instant) -> Vec<Effect> {
        match &mut self.phase {
            Phase::Stopping { then: then @ (Then::Leave | Then::StartAnew), .. } => {
                *then = Then::CleanUpAndStartAnew;
                vec![]
            }
            Phase::CleaningUp { .. } => self.withdraw(Afterwards::Replace),
            _ => self.announced(now),
        }
    }

    /// The cluster that another name had is free, in case this one was refused for it. One that leaves goes on leaving.
    pub(super) fn freed(&mut self, now: Instant) -> Vec<Effect> {
        match self.phase {
            Phase::Stuck | Phase::Running { .. } | Phase::Stopping { then: Then::Stick, .. } => {
                self.announced(now)
            }
            _ => vec![],
        }
    }

    /// It has the place that it asked for.
    pub(super) fn placed(&mut self, now: Instant) -> Vec<Effect> {
        let effects = match self.phase {
            Phase::Waiting => {
                self.phase = Phase::Connecting { place_until: Some(now + FIRST_ANSWER) };
                vec![Effect::Connect]
            }
            Phase::Answered => self.start(now),
            _ => return vec![Effect::LeavePlace],
        };
        self.settle(now);
        effects
    }

    /// The result of the last [`Effect::Connect`].
    pub(super) fn connected(&mut self, result: Result<(), Fault>, now: Instant) -> Vec<Effect> {
        let Phase::Connecting { place_until } = self.phase else { return vec![] };
        let effects = match result {
            Ok(()) => {
                self.fault = None;
                match place_until {
                    Some(_) => self.start(now),
                    None => {
                        self.phase = Phase::Answered;
                        vec![Effect::AskPlace(Attempt::First)]
                    }
                }
            }
            Err(fault) => {
                let wait = match &fault {
                    Fault::Failed(_) => LONGEST_WAIT, // what it needs may come later, such as a file
                    _ => self.next_wait(),
                };
                self.phase = Phase::BackingOff { until: now + wait };
                self.note(Some(fault), now);
                place_until.map(|_| Effect::LeavePlace).into_iter().collect()
            }
        };
        self.settle(now);
        effects
    }

    /// What its controllers show now.
    pub(super) fn looked_at(&mut self, look: Look, now: Instant) -> Vec<Effect> {
        let Phase::Running { place_until, synced } = &mut self.phase else { return vec![] };
        *synced = look.synced;
        let frees_place = (look.synced || look.fault.is_some()) && place_until.take().is_some();
        if look.synced && look.fault.is_none() {
            (self.failures, self.failing_since) = (0, None);
        }
        self.note(look.fault, now);
        self.settle(now);
        if frees_place { vec![Effect::LeavePlace] } else { vec![] }
    }

    /// The cluster that has its name now does not answer, so it is not known whether there is something to clean up.
    pub(super) fn successor_fails(&mut self, fault: Option<Fault>, now: Instant) {
        if self.is_replaced() && fault.is_some() {
            self.note(fault, now);
            self.settle(now);
        }
    }

    /// Its client leads to another cluster now, which its controllers do not show yet.
    pub(super) fn moved(&mut self, now: Instant) -> Vec<Effect> {
        if let Phase::Running { synced, .. } = &mut self.phase {
            *synced = false;
        }
        self.settle(now);
        vec![]
    }

    /// A controller ended with an error although it should run, or could not be made.
    pub(super) fn broke(&mut self, why: String, now: Instant) -> Vec<Effect> {
        self.stop_for(Fault::Failed(why), Then::Retry, now)
    }

    /// It cannot work as it is, until it is announced in another way.
    pub(super) fn refused(&mut self, why: String, now: Instant) -> Vec<Effect> {
        let leaves_place = match self.phase {
            Phase::Connecting { place_until } => place_until.is_some(),
            Phase::Answered => true,
            _ => return self.stop_for(Fault::Failed(why), Then::Stick, now),
        };
        self.phase = Phase::Stuck;
        self.note(Some(Fault::Failed(why)), now);
        self.settle(now);
        leaves_place.then_some(Effect::LeavePlace).into_iter().collect()
    }

    /// From now on, what stops has so much time at most.
    pub(super) fn limit_grace_period(&mut self, limit: Duration, now: Instant) {
        self.grace_period = self.grace_period.min(limit);
        if let Phase::Stopping { until, .. } = &mut self.phase {
            *until = (*until).min(now + self.grace_period);
        }
    }

    /// It was removed.
    pub(super) fn removed(&mut self, now: Instant) -> Vec<Effect> {
        let effects = match self.phase {
            Phase::Waiting | Phase::Answered | Phase::Connecting { place_until: Some(_) } => {
                self.phase = Phase::CleaningUp { then: Afterwards::Leave };
                vec![Effect::LeavePlace, Effect::CleanUp]
            }
            Phase::Connecting { place_until: None } | Phase::BackingOff { .. } | Phase::Stuck => {
                self.phase = Phase::CleaningUp { then: Afterwards::Leave };
                vec![Effect::CleanUp]
            }
            Phase::CleaningUp { then: Afterwards::Replace } => self.withdraw(Afterwards::Leave),
            Phase::CleaningUp { .. } => {
                self.phase = Phase::CleaningUp { then: Afterwards::Leave };
                vec![]
            }
            Phase::Running { place_until, .. } => {
                self.phase = Phase::Stopping { until: now + self.grace_period, then: Then::Leave };
                let leaves_place = place_until.map(|_| Effect::LeavePlace);
                leaves_place.into_iter().chain([Effect::Stop]).collect()
            }
            Phase::Stopping { until, .. } => {
                self.phase = Phase::Stopping { until, then: Then::Leave };
                vec![]
            }
            Phase::Left => vec![],
        };
        self.settle(now);
        effects
    }

    /// Its controllers have ended after [`Effect::Stop`] or [`Effect::Abort`].
    pub(super) fn stopped(&mut self, now: Instant) -> Vec<Effect> {
        let Phase::Stopping { then, .. } = self.phase else { return vec![] };
        (self.is_aborted, self.blocked) = (false, None);
        let effects = match then {
            Then::Leave => {
                self.phase = Phase::CleaningUp { then: Afterwards::Leave };
                vec![Effect::CleanUp]
            }
            Then::CleanUpAndStartAnew => {
                (self.fault, self.failing_since) = (None, None); // of the cluster that leaves
                self.phase = Phase::CleaningUp { then: Afterwards::Replace };
                vec![Effect::CleanUp]
            }
            Then::StartAnew => self.start_anew(),
            Then::Retry => {
                self.phase = Phase::BackingOff { until: now + self.next_wait() };
                vec![]
            }
            Then::Stick => {
                self.phase = Phase::Stuck;
                vec![]
            }
        };
        self.settle(now);
        effects
    }

    /// The program has cleaned up, or does not.
    pub(super) fn cleaned_up(&mut self, now: Instant) -> Vec<Effect> {
        let Phase::CleaningUp { then } = self.phase else { return vec![] };
        let effects = if then == Afterwards::Leave {
            self.phase = Phase::Left;
            vec![Effect::Forget]
        } else {
            self.start_anew()
        };
        self.settle(now);
        effects
    }

    /// The program has not begun to clean up, because that was withdrawn. What was announced or removed since then decides.
    pub(super) fn clean_up_withdrawn(&mut self, now: Instant) -> Vec<Effect> {
        match self.phase {
            Phase::CleaningUp { then: Afterwards::Leave | Afterwards::Replace } => vec![Effect::CleanUp],
            _ => self.cleaned_up(now),
        }
    }

    /// When to call [`timer`](Self::timer).
    pub(super) fn next_timer(&self) -> Option<Instant> {
        self.phase.next_timer()
    }

    /// What is due by now.
    pub(super) fn timer(&mut self, now: Instant) -> Vec<Effect> {
        if self.next_timer().is_none_or(|due| due > now) {
            return vec![];
        }
        match &mut self.phase {
            Phase::BackingOff { .. } => {
                self.phase = Phase::Waiting;
                vec![Effect::AskPlace(Attempt::Again)]
            }
            Phase::Connecting { place_until } => {
                *place_until = None;
                vec![Effect::LendPlace]
            }
            Phase::Running { place_until, .. } => {
                *place_until = None;
                vec![Effect::LeavePlace]
            }
            Phase::Stopping { until, .. } => {
                *until = now + self.grace_period; // what blocks its thread cannot be aborted
                match std::mem::replace(&mut self.is_aborted, true) {
                    false => vec![Effect::Abort],
                    true => vec![Effect::FindBlocked],
                }
            }
            _ => vec![], // they have no timer
        }
    }

    /// It does not stop although it was aborted, because of this: it is down for as long.
    pub(super) fn blocked(&mut self, why: String, now: Instant) {
        if matches!(self.phase, Phase::Stopping { .. }) {
            self.blocked = Some(why);
            self.settle(now);
        }
    }

    /// What it shows, since when, and why.
    pub(super) fn state(&self) -> (ClusterState, Instant, Option<&str>) {
        let (state, since) = self.shown;
        if let Some(why) = &self.blocked {
            return (state, since, Some(why));
        }
        let fault = self.fault.as_ref().filter(|_| state.is_failure());
        (state, since, fault.map(|(fault, _)| fault.reason()))
    }

    /// Whether nothing follows any more.
    pub(super) fn has_left(&self) -> bool {
        self.phase == Phase::Left
    }

    /// Whether it was removed, and has not left yet. It may have been announced again.
    pub(super) fn is_leaving(&self) -> bool {
        self.phase.is_leaving()
    }

    /// Whether it was removed, and not announced again since then.
    pub(super) fn leaves_for_good(&self) -> bool {
        let last = [Phase::CleaningUp { then: Afterwards::Leave }, Phase::Left];
        last.contains(&self.phase) || matches!(self.phase, Phase::Stopping { then: Then::Leave, .. })
    }

    /// Whether its name has another address, and it is to be cleaned up on unless that leads to it, too.
    pub(super) fn is_replaced(&self) -> bool {
        self.phase == Phase::CleaningUp { then: Afterwards::Replace }
    }

    /// Whether its controllers run.
    pub(super) fn runs(&self) -> bool {
        matches!(self.phase, Phase::Running { .. })
    }

    fn stop_for(&mut self, fault: Fault, then: Then, now: Instant) -> Vec<Effect> {
        let Phase::Running { place_until, .. } = self.phase else { return vec![] };
        self.phase = Phase::Stopping { until: now + self.grace_period, then };
        self.note(Some(fault), now);
        self.settle(now);
        let leaves_place = place_until.map(|_| Effect::LeavePlace);
        leaves_place.into_iter().chain([Effect::Stop]).collect()
    }

    /// What has not begun to clean up does not begin.
    fn withdraw(&mut self, then: Afterwards) -> Vec<Effect> {
        (self.fault, self.failing_since) = (None, None); // of the cluster that leaves
        self.phase = Phase::CleaningUp { then };
        vec![Effect::WithdrawCleanUp]
    }

    /// It has answered, and has a place.
    fn start(&mut self, now: Instant) -> Vec<Effect> {
        self.phase = Phase::Running { place_until: Some(now + FIRST_LISTS), synced: false };
        vec![Effect::Start]
    }

    /// It comes back after its end.
    fn start_anew(&mut self) -> Vec<Effect> {
        (self.phase, self.fault, self.failing_since, self.failures) = (Phase::Waiting, None, None, 0);
        vec![Effect::Forget, Effect::AskPlace(Attempt::First)]
    }

    /// A fault lasts from the first one on, also when its words or its kind change.
    fn note(&mut self, fault: Option<Fault>, now: Instant) {
        self.fault = fault.map(|fault| (fault, *self.failing_since.get_or_insert(now)));
    }

    fn next_wait(&mut self) -> Duration {
        let wait = FIRST_WAIT.saturating_mul(1 << self.failures.min(6));
        self.failures = self.failures.saturating_add(1);
        wait.min(LONGEST_WAIT)
    }

    /// Notes since when it shows its state.
    fn settle(&mut self, now: Instant) {
        let state = self.present_state(now);
        if self.shown.0 != state {
            let fault = self.fault.as_ref().filter(|_| state.is_failure());
            self.shown = (state, fault.map_or(now, |(_, since)| *since));
        }
    }

    fn present_state(&self, now: Instant) -> ClusterState {
        let is_running = self.runs();
        match (self.phase, &self.fault) {
            _ if self.blocked.is_some() => ClusterState::Failed,
            (_, fault) if self.is_leaving() && !(self.is_replaced() && fault.is_some()) => {
                ClusterState::Leaving
            }
            (_, Some((Fault::Forbidden(_), _))) => ClusterState::Forbidden,
            (_, Some((Fault::Failed(_), _))) => ClusterState::Failed,
            (_, Some((Fault::Unreachable(_), since))) if !is_running || now - *since >= TOLERATED => {
                ClusterState::Unreachable
            }
            (Phase::Running { synced: true, .. }, _) => ClusterState::Synced,
            _ => ClusterState::Connecting,
        }
    }
}

impl Fault {
    pub(super) fn reason(&self) -> &str {
        match self {
            Self::Unreachable(why) | Self::Forbidden(why) | Self::Failed(why) => why,
        }
    }
}

#[cfg(test)]
#[path = "unit_tests.rs"]
mod tests;
