//! The kinds of faults, and how likely they are.

use std::{collections::BTreeSet, fmt, ops::Sub, str::FromStr};

/// A kind of fault that is tried at every place where it can happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Family {
    /// The operator crashes just before a write, and starts again after a second.
    CrashBefore,
    /// The operator crashes just after a write, before it sees the answer.
    CrashAfter,
    /// The operator crashes just after a write, and starts again in the next step.
    CrashDown,
    /// A write succeeds, but the connection breaks before the answer.
    Lost,
    /// A write is refused with 409.
    Conflict,
    /// A write is refused with 429 and `Retry-After: 1`.
    TooManyRequests,
    /// A write is refused with 500.
    Refused,
    /// A read fails with 500.
    FailedRead,
    /// Another writer changes the object just before a write. What it has written has to stay.
    OtherWriter,
    /// The operator is replaced, and a write of the old process arrives a minute later, or after the next step.
    Late,
    /// A write is done at once, but its answer takes ten seconds.
    Slow,
    /// A watch is 20 seconds late from an event on.
    Lag,
    /// A watch is ten minutes late from an event on, while other steps happen.
    LongLag,
    /// A watch is ten minutes late from an event on, and the next step comes after that.
    LagDwell,
    /// A watch breaks before an event, and its next list shows a later state: the event is never seen.
    Unseen,
    /// The operator is restarted while nothing is to do.
    Restart,
    /// The operator is down during a step.
    Down,
    /// A restarted operator lists an old cache. Only where lists ask for `resourceVersion=0`.
    StaleRestart,
    /// Another process takes the Leases of the operator for a minute, in which the next step comes.
    LostLease,
    /// The old version of the operator crashes, after a write or while nothing is to do, and the new one starts. Only with
    /// [`Verify::upgrade_from`](crate::Verify::upgrade_from).
    Upgrade,
    /// Calls of the operator's webhooks fail for 20 seconds, in which the next step begins. Only with
    /// [`World::webhooks`](crate::World::webhooks).
    Webhook,
    /// A pod is evicted.
    Evicted,
    /// A user changes a field of a custom resource, or removes it, and later takes that back. The state has to be as before.
    Change,
    /// A user sets a field to an extreme value (empty, zero, negative, the largest, very long), and later takes that back.
    Extreme,
    /// A user adds a label and an annotation to a custom resource, and later removes them.
    Labels,
    /// A user changes a value of an object that the operator has made. The operator has to restore what it owns by server-side apply.
    ChildEdited,
    /// The status of a custom resource is lost while the operator restarts, as in a backup that is restored.
    StatusWiped,
    /// The garbage collector takes ten minutes.
    SlowGarbageCollection,
    /// Controllers of workloads and the kubelet take ten minutes.
    SlowWorkloads,
}

/// How often a fault happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Likelihood {
    /// In any cluster.
    Daily,
    /// In an outage.
    Yearly,
    /// When several things come together.
    Exotic,
}

impl Family {
    /// All, in the order of their likelihood.
    pub const ALL: [Self; 29] = [
        Self::CrashBefore,
        Self::CrashAfter,
        Self::Lost,
        Self::Conflict,
        Self::TooManyRequests,
        Self::Refused,
        Self::FailedRead,
        Self::OtherWriter,
        Self::Slow,
        Self::Lag,
        Self::Restart,
        Self::Down,
        Self::Upgrade,
        Self::Evicted,
        Self::Webhook,
        Self::Change,
        Self::Extreme,
        Self::Labels,
        Self::ChildEdited,
        Self::CrashDown,
        Self::LongLag,
        Self::LagDwell,
        Self::Unseen,
        Self::LostLease,
        Self::SlowGarbageCollection,
        Self::SlowWorkloads,
        Self::StatusWiped,
        Self::StaleRestart,
        Self::Late,
    ];

    /// All families.
    pub fn all() -> Families {
        Families(Self::ALL.into_iter().collect())
    }

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::CrashBefore => "crash-before",
            Self::CrashAfter => "crash-after",
            Self::CrashDown => "crash-down",
            Self::Lost => "lost",
            Self::Conflict => "409",
            Self::TooManyRequests => "429",
            Self::Refused => "500",
            Self::FailedRead => "failed-read",
            Self::OtherWriter => "other-writer",
            Self::Late => "late",
            Self::Slow => "slow",
            Self::Lag => "lag",
            Self::LongLag => "long-lag",
            Self::LagDwell => "lag-dwell",
            Self::Unseen => "unseen",
            Self::Restart => "restart",
            Self::Down => "down",
            Self::StaleRestart => "stale-restart",
            Self::LostLease => "lost-lease",
            Self::Upgrade => "upgrade",
            Self::Evicted => "evicted",
            Self::Webhook => "webhook",
            Self::Change => "change",
            Self::Extreme => "extreme",
            Self::Labels => "labels",
            Self::ChildEdited => "child-edited",
            Self::StatusWiped => "status-wiped",
            Self::SlowGarbageCollection => "slow-gc",
            Self::SlowWorkloads => "slow-workloads",
        }
    }

    /// Its place in [`ALL`](Self::ALL).
    pub(crate) fn position(self) -> usize {
        Self::ALL.iter().position(|other| *other == self).unwrap_or(Self::ALL.len())
    }

    pub(crate) fn likelihood(self) -> Likelihood {
        match self {
            Self::Late | Self::StaleRestart => Likelihood::Exotic,
            Self::CrashDown | Self::LongLag | Self::LagDwell | Self::Unseen => Likelihood::Yearly,
            Self::LostLease | Self::SlowGarbageCollection | Self::SlowWorkloads | Self::StatusWiped => {
                Likelihood::Yearly
            }
            _ => Likelihood::Daily,
        }
    }

    /// Whether users have other values for a while, of which something else is made.
    pub(crate) fn edits_values(self) -> bool {
        matches!(self, Self::Change | Self::Extreme | Self::ChildEdited)
    }

    /// What to look for in the operator when this fault breaks it.
    pub(crate) fn hint(self) -> &'static str {
        match self {
            Self::CrashBefore | Self::CrashAfter | Self::CrashDown => {
                "a reconcile may end after any write: what the next one needs has to be in the cluster, under a name that it can find"
            }
            Self::Lost | Self::Slow => {
                "a write that failed may have been done: derive names from the owner, and let the next reconcile find what is there"
            }
            Self::Conflict => {
                "a conflict is not the end: return the error, so that the reconcile is repeated with the new object"
            }
            Self::TooManyRequests | Self::Refused => {
                "a refused write has to be repeated: return its error, do not only log it"
            }
            Self::FailedRead => {
                "a failed read is not an absent object: treat only 404 as absent (`Api::get_opt`)"
            }
            Self::OtherWriter => {
                "others write the object, too: write with its resourceVersion, or only the fields that you own (server-side apply)"
            }
            Self::Late => {
                "a write of an earlier process may arrive late: deletions and creations need preconditions or fixed names"
            }
            Self::Lag | Self::LongLag | Self::LagDwell | Self::Unseen | Self::StaleRestart => {
                "a cache may be old: before what cannot be taken back, read the object itself or write with preconditions"
            }
            Self::Restart | Self::Down => {
                "a restart finds what no event has shown: watch all that a reconcile depends on (`owns`), and keep nothing that it needs in memory alone"
            }
            Self::LostLease => {
                "a leader that lost its Lease has to stop before another one starts, and to lead again when that is gone (by the clock of tokio)"
            }
            Self::Upgrade => {
                "the new version finds what the old one has left, also half done: take it over or delete it, and keep values that were generated"
            }
            Self::Webhook => {
                "what passes while a webhook fails was neither checked nor completed: `failurePolicy: Fail`, or do both in the reconcile as well"
            }
            Self::Evicted => "pods come and go: do not remember their names",
            Self::Change => {
                "what a value has caused has to go with it: apply all that is wanted (server-side apply), or remove what is not (null in a merge patch)"
            }
            Self::Extreme => {
                "what the schema lets pass has to be survived: refuse it in the schema, or report it in the status"
            }
            Self::Labels => {
                "labels and annotations of users come and go: what is derived from them has to follow"
            }
            Self::ChildEdited => {
                "people edit children: watch them, and apply all that is wanted at each event"
            }
            Self::StatusWiped => {
                "a status may be lost: find what is there by its name or its labels, not by the status alone"
            }
            Self::SlowGarbageCollection => {
                "garbage collection takes its time: names of children may still be taken by those of a deleted owner"
            }
            Self::SlowWorkloads => "pods take their time: wait for readiness without giving up",
        }
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Family {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|family| family.name() == text).ok_or_else(|| {
            let names: Vec<_> = Self::ALL.iter().map(|family| family.name()).collect();
            format!("there is no family {text:?}: expected {}", names.join(", "))
        })
    }
}

/// A set of families: `Family::all() - Family::Late`, or those of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Families(BTreeSet<Family>);

impl Families {
    pub(crate) fn contains(&self, family: Family) -> bool {
        self.0.contains(&family)
    }
}

impl FromIterator<Family> for Families {
    fn from_iter<I: IntoIterator<Item = Family>>(families: I) -> Self {
        Self(families.into_iter().collect())
    }
}

impl<const N: usize> From<[Family; N]> for Families {
    fn from(families: [Family; N]) -> Self {
        families.into_iter().collect()
    }
}

impl Sub<Family> for Families {
    type Output = Self;

    fn sub(mut self, family: Family) -> Self {
        self.0.remove(&family);
        self
    }
}

impl FromStr for Families {
    type Err = String;

    /// Names with commas between them.
    fn from_str(text: &str) -> Result<Self, String> {
        text.split(',').map(|name| name.trim().parse()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_are_read_by_their_names() {
        for family in Family::ALL {
            assert_eq!(family.name().parse::<Family>(), Ok(family));
        }
        let some: Families = "lost, 409".parse().unwrap();
        assert_eq!(some, Families::from([Family::Lost, Family::Conflict]));
        assert!("lost,none".parse::<Families>().unwrap_err().starts_with("there is no family \"none\""));
        assert!(!(Family::all() - Family::Late).contains(Family::Late));
        assert_eq!(Family::all().0.len(), Family::ALL.len());
    }
}
