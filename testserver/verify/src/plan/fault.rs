//! Faults, and plans made of them.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Edit, EditFault, EventPlace, Place};
use crate::family::Family;

/// What can happen to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum RequestFault {
    CrashBefore,
    CrashAfter,
    CrashDown,
    Lost,
    Conflict,
    TooManyRequests,
    Refused,
    OtherWriter,
    Late,
    /// After the next step.
    LateByAStep,
    Slow,
    /// The old version crashes after it, and the new one starts.
    Upgrade,
}

/// What can happen at an event of a watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum EventFault {
    Lag,
    LongLag,
    LagDwell,
    Unseen,
}

/// What can happen after a step, when nothing is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum StepFault {
    Restart,
    /// Down until the next step has been made.
    Down,
    StaleRestart,
    LostLease,
    Evicted,
    /// Webhooks fail when the next step begins.
    WebhookAway,
    /// The new version takes the place of the old one.
    Upgrade,
}

/// What can be so in a whole run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum RunFault {
    SlowGarbageCollection,
    SlowWorkloads,
}

/// A fault at a place.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Injection {
    Request(RequestFault, Place),
    Event(EventFault, EventPlace),
    /// After this step; 0 is before the first.
    Step(StepFault, usize),
    Edit(Edit),
    Run(RunFault),
}

/// Faults that come one after the other. Empty in a run without faults.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub(crate) struct Plan(pub(crate) Vec<Injection>);

impl EventFault {
    /// How long the watch is late.
    pub(crate) fn lag(self) -> Duration {
        match self {
            Self::Lag => Duration::from_secs(20),
            Self::LongLag | Self::LagDwell => Duration::from_secs(600),
            // Until the next event of the object, at most.
            Self::Unseen => Duration::from_secs(900),
        }
    }
}

impl RequestFault {
    fn family(self, place: &Place) -> Family {
        match self {
            Self::CrashBefore => Family::CrashBefore,
            Self::CrashAfter => Family::CrashAfter,
            Self::CrashDown => Family::CrashDown,
            Self::Lost => Family::Lost,
            Self::Conflict => Family::Conflict,
            Self::TooManyRequests => Family::TooManyRequests,
            Self::Refused if place.operation.verb.is_read() => Family::FailedRead,
            Self::Refused => Family::Refused,
            Self::OtherWriter => Family::OtherWriter,
            Self::Late | Self::LateByAStep => Family::Late,
            Self::Slow => Family::Slow,
            Self::Upgrade => Family::Upgrade,
        }
    }
}

impl Injection {
    pub(crate) fn family(&self) -> Family {
        match self {
            Self::Request(fault, place) => fault.family(place),
            Self::Event(EventFault::Lag, _) => Family::Lag,
            Self::Event(EventFault::LongLag, _) => Family::LongLag,
            Self::Event(EventFault::LagDwell, _) => Family::LagDwell,
            Self::Event(EventFault::Unseen, _) => Family::Unseen,
            Self::Step(StepFault::Restart, _) => Family::Restart,
            Self::Step(StepFault::Down, _) => Family::Down,
            Self::Step(StepFault::StaleRestart, _) => Family::StaleRestart,
            Self::Step(StepFault::LostLease, _) => Family::LostLease,
            Self::Step(StepFault::Evicted, _) => Family::Evicted,
            Self::Step(StepFault::WebhookAway, _) => Family::Webhook,
            Self::Step(StepFault::Upgrade, _) => Family::Upgrade,
            Self::Edit(edit) => edit.fault.family(),
            Self::Run(RunFault::SlowGarbageCollection) => Family::SlowGarbageCollection,
            Self::Run(RunFault::SlowWorkloads) => Family::SlowWorkloads,
        }
    }

    /// Whether the operator may not see a step in time: it is down, or its cache is old.
    fn may_miss_a_step(&self) -> bool {
        matches!(
            self,
            Self::Event(..)
                | Self::Request(RequestFault::CrashDown, _)
                | Self::Step(StepFault::Down | StepFault::StaleRestart, _)
        )
    }
}

impl Plan {
    /// Whether the operator may not see a step in time. Then it may never see an object whose children would have been left over.
    pub(crate) fn may_miss_a_step(&self) -> bool {
        self.0.iter().any(Injection::may_miss_a_step)
    }

    /// The families of its faults, in order.
    pub(crate) fn families(&self) -> Vec<Family> {
        self.0.iter().map(Injection::family).collect()
    }

    pub(crate) fn has(&self, fault: RunFault) -> bool {
        self.0.contains(&Injection::Run(fault))
    }

    /// Whether controllers of the cluster take their time.
    pub(crate) fn is_slow(&self) -> bool {
        self.has(RunFault::SlowGarbageCollection) || self.has(RunFault::SlowWorkloads)
    }

    /// The old version alone, to the end.
    pub(crate) fn old_version() -> Self {
        Self(vec![Injection::Step(StepFault::Upgrade, usize::MAX)])
    }

    /// Whether the run begins with the old version of the operator.
    pub(crate) fn upgrades(&self) -> bool {
        self.0.iter().any(|injection| injection.family() == Family::Upgrade)
    }

    /// The object of a write that arrives after the next step.
    pub(crate) fn late_object(&self) -> Option<String> {
        self.0.iter().find_map(|injection| match injection {
            Injection::Request(RequestFault::LateByAStep, place) => {
                Some(format!("{} {}", place.operation.resource, place.operation.name))
            }
            _ => None,
        })
    }

    /// What a user does after its step.
    pub(crate) fn edit(&self) -> Option<&Edit> {
        self.0.iter().find_map(|injection| match injection {
            Injection::Edit(edit) => Some(edit),
            _ => None,
        })
    }

    /// The resource of the child of which a user edits a value.
    pub(crate) fn overwritten(&self) -> Option<&str> {
        let edit = self.edit().filter(|edit| edit.fault == EditFault::Overwrite);
        edit.map(|edit| edit.resource.as_str())
    }

    /// The fault after this step.
    pub(crate) fn after_step(&self, step: usize) -> Option<StepFault> {
        self.0.iter().find_map(|injection| match injection {
            Injection::Step(fault, at) if *at == step => Some(*fault),
            _ => None,
        })
    }
}
