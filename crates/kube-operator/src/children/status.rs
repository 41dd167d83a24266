//! [`ChildrenStatus`]: what became of the children of an owner.

use super::child_error::ChildError;
use crate::apply::Change;
use kube_core::DynamicObject;
use kube_runtime::{controller::Action, served::Availability};
use std::{fmt, time::Duration};

/// How long a reconcile waits for the end of deletions, whose events its controller may not see.
const REMOVAL_INTERVAL: Duration = Duration::from_secs(10);

/// How long a reconcile waits where it is not known whether a child can be applied, because nothing may watch for that.
const UNCERTAIN_INTERVAL: Duration = Duration::from_secs(60);

/// The most children in a message: a condition has a limited length.
const IN_MESSAGE: usize = 20;

/// What became of the children of an owner, for its status: `{}` is one line that says which child waits for what. Of a
/// [dry run](super::Children::dry_run), it says what would be created, changed and deleted.
///
/// ```
/// use kube_operator::children::ChildrenStatus;
/// use kube_operator::status::{Conditions, InvalidCondition};
///
/// fn report(children: &ChildrenStatus, conditions: &mut Conditions<'_>) -> Result<(), InvalidCondition> {
///     conditions.set("Ready", children.is_ready(), children.reason(), children.to_string())?;
///     Ok(())
/// }
/// ```
#[derive(Debug, Default)]
#[non_exhaustive]
#[must_use = "it says whether children have failed, and when to call again"]
pub struct ChildrenStatus {
    /// The children, in the order in which they were added.
    pub children: Vec<ChildStatus>,
    /// What was a child, and is no longer wanted; in a dry run what would be deleted, which is [`Gone`](RemovalState::Gone).
    pub removed: Vec<RemovedChild>,
    /// Why nothing was written, if so: the owner is paused, or is being deleted.
    pub held: Option<&'static str>,
    /// The newer release that has recorded the children. While it is set, nothing that is not wanted is deleted.
    pub kept_for: Option<String>,
    /// Whether nothing was written because of [`Children::dry_run`](super::Children::dry_run), so that this is what would happen.
    pub dry_run: bool,
}

/// A child that is wanted.
#[derive(Debug)]
#[non_exhaustive]
pub struct ChildStatus {
    /// Its name in the set.
    pub name: String,
    /// Kind, name and namespace.
    pub object: String,
    /// How far it is.
    pub state: ChildState,
    /// What was done, or would be in a dry run; `None` if nothing was tried.
    pub change: Option<Change>,
    /// As the server has it, if it was applied or looked at.
    pub(super) latest: Option<DynamicObject>,
}

/// How far a child is.
#[derive(Debug)]
#[non_exhaustive]
pub enum ChildState {
    /// As wanted, and ready.
    Ready,
    /// As wanted, and not ready for this reason.
    NotReady(String),
    /// Not applied yet: these others are not ready.
    Waiting(Vec<String>),
    /// As wanted, and scaled to nothing.
    Stopped,
    /// Left alone, because the owner is paused or being deleted.
    Held,
    /// Left alone, because the cluster does not serve its kind, or may not: see [`Added::if_served`](super::Added::if_served).
    NotServed(Availability),
    /// Not applied.
    Failed(ChildError),
}

/// An object that is no longer wanted.
#[derive(Debug)]
#[non_exhaustive]
pub struct RemovedChild {
    /// Kind, name and namespace; or the collection that could not be listed.
    pub object: String,
    /// How far its deletion is.
    pub state: RemovalState,
}

/// How far a deletion is.
#[derive(Debug)]
#[non_exhaustive]
pub enum RemovalState {
    /// It was deleted; in a dry run, it would be.
    Gone,
    /// It is being deleted.
    Deleting,
    /// It is deleted when these are gone, or `all children are applied`.
    Waiting(Vec<String>),
    /// It is deleted when this holds.
    Blocked(String),
    /// It stays, because a newer release has recorded it.
    Kept,
    /// It was not deleted, because it has changed since it was listed: the next run looks at it again.
    Changed(kube_client::Error),
    /// It was not deleted.
    Failed(kube_client::Error),
    /// It is not known whether there are any: their list has failed.
    Unknown(String),
}

impl ChildrenStatus {
    /// Whether every child is as wanted, and ready, except those whose kind the cluster does not have. One that is left alone because the
    /// cluster has another form of its kind, or could not say it, may exist, and is not as wanted.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.held.is_none()
            && self
                .children
                .iter()
                .all(|child| child.is_left_out() || matches!(child.state, ChildState::Ready))
    }

    /// A reason for a condition: `ChildrenFailed`, `ChildrenHeld`, `ChildrenStopped`, `ChildrenNotReady` or `ChildrenReady`.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        let any = |is: fn(&ChildState) -> bool| self.children.iter().any(|child| is(&child.state));
        match () {
            () if self.has_failed() => "ChildrenFailed",
            () if self.held.is_some() => "ChildrenHeld",
            () if self.is_ready() => "ChildrenReady",
            () if any(|state| matches!(state, ChildState::Stopped)) => "ChildrenStopped",
            () => "ChildrenNotReady",
        }
    }

    /// The state of a child, by its name in the set.
    #[must_use]
    pub fn child(&self, name: &str) -> Option<&ChildStatus> {
        self.children.iter().find(|child| child.name == name)
    }

    /// When to call again without a change: with backoff if something has failed, soon if a deletion is not at its end, within a
    /// minute if a child [may be served](super::Added::if_served) later, else not at all.
    #[must_use]
    pub fn action(&self) -> Action {
        match () {
            () if self.has_failed() => Action::retry(),
            () if self.is_uncertain() && !self.is_deleting() => Action::requeue(UNCERTAIN_INTERVAL),
            () if self.is_removing() => Action::requeue(REMOVAL_INTERVAL),
            () => Action::await_change(),
        }
    }

    /// Whether a child was not applied or deleted, because of an error.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        let removal =
            |it: &RemovedChild| matches!(it.state, RemovalState::Failed(_) | RemovalState::Unknown(_));
        self.children.iter().any(|child| matches!(child.state, ChildState::Failed(_)))
            || self.removed.iter().any(removal)
    }

    /// Whether there are children of which it is not known whether they exist.
    fn is_uncertain(&self) -> bool {
        let is_not_served =
            |it: &ChildStatus| matches!(it.state, ChildState::NotServed(_)) && !it.is_left_out();
        self.children.iter().any(is_not_served)
    }

    /// Whether there are deletions that are not at their end, and need no other child first.
    fn is_deleting(&self) -> bool {
        let is_over = |it: &RemovedChild| {
            matches!(it.state, RemovalState::Gone | RemovalState::Kept | RemovalState::Waiting(_))
        };
        !self.removed.iter().all(is_over)
    }

    /// Whether there are deletions that are not at their end.
    pub(super) fn is_removing(&self) -> bool {
        let open = |it: &RemovedChild| !matches!(it.state, RemovalState::Gone | RemovalState::Kept);
        self.removed.iter().any(open)
    }
}

impl fmt::Display for ChildrenStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lines: Vec<String> =
            self.held.iter().map(|why| format!("nothing was written: {why}")).collect();
        // What has failed first: it needs someone.
        let (failed, others): (Vec<_>, Vec<_>) =
            self.children.iter().partition(|child| matches!(child.state, ChildState::Failed(_)));
        lines.extend(failed.into_iter().chain(others).filter_map(|child| child.line(self.dry_run)));
        lines.extend(self.removed.iter().filter_map(|child| child.line(self.dry_run)));
        if let Some(release) = &self.kept_for {
            lines.push(format!("nothing is deleted: the newer release {release} has recorded the children"));
        }
        match (lines.len(), self.children.iter().filter(|child| !child.is_left_out()).count()) {
            (0, _) if self.dry_run => f.write_str("nothing would change"),
            (0, 0) => f.write_str("there are no children"),
            (0, 1) => f.write_str("the child is ready"),
            (0, count) => write!(f, "all {count} children are ready"),
            (count, _) if count > IN_MESSAGE => {
                write!(f, "{}; and {} more", lines[..IN_MESSAGE].join("; "), count - IN_MESSAGE)
            }
            _ => f.write_str(&lines.join("; ")),
        }
    }
}

impl ChildStatus {
    /// Whether it cannot exist.
    fn is_left_out(&self) -> bool {
        matches!(self.state, ChildState::NotServed(Availability::Missing(_)))
    }

    /// What a message says of it; nothing if it is ready, and would not change.
    fn line(&self, dry_run: bool) -> Option<String> {
        let Self { name, object, state, .. } = self;
        let would = match self.change.filter(|_| dry_run) {
            Some(Change::Created) => Some("would be created"),
            Some(Change::Changed) => Some("would be changed"),
            Some(Change::Unchanged) | None => None,
        };
        if let Some(would) = would {
            return Some(match state {
                ChildState::NotReady(why) => format!("{name} ({object}) {would}, and is not ready: {why}"),
                _ => format!("{name} ({object}) {would}"),
            });
        }
        match state {
            ChildState::Ready
            | ChildState::Held
            | ChildState::NotServed(Availability::Served(_) | Availability::Missing(_)) => None,
            ChildState::NotServed(Availability::Mismatch(why) | Availability::Unknown(why)) => {
                Some(format!("{name} ({object}) is left alone: {why}"))
            }
            ChildState::NotServed(_) => Some(format!("{name} ({object}) is left alone")),
            ChildState::NotReady(why) => Some(format!("{name} ({object}) is not ready: {why}")),
            ChildState::Waiting(others) => Some(format!("{name} waits for {}", others.join(", "))),
            ChildState::Stopped => Some(format!("{name} is stopped")),
            ChildState::Failed(error) => Some(format!("{name} has failed: {error}")),
        }
    }
}

impl RemovedChild {
    fn line(&self, dry_run: bool) -> Option<String> {
        let Self { object, state } = self;
        match state {
            RemovalState::Gone => dry_run.then(|| format!("{object} would be deleted")),
            RemovalState::Deleting => Some(format!("{object} is being deleted")),
            RemovalState::Waiting(others) => Some(format!("{object} is deleted after {}", others.join(", "))),
            RemovalState::Blocked(what) => Some(format!("{object} is deleted after {what}")),
            RemovalState::Kept => Some(format!("{object} is not wanted, and stays")),
            RemovalState::Changed(error) => {
                Some(format!("{object} has changed, and is looked at again: {error}"))
            }
            RemovalState::Failed(error) => Some(format!("{object} could not be deleted: {error}")),
            RemovalState::Unknown(error) => Some(format!("{object} could not be listed: {error}")),
        }
    }
}
