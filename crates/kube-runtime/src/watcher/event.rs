//! What a watcher reports.

use super::undecodable::UndecodableObject;
use kube_core::ResourceExt;
use std::fmt;

/// One thing a [`watcher`](fn@super::watcher) has to say about its objects.
///
/// # Ordering
///
/// The stream starts with a *list*: [`Event::Init`], then [`Event::InitApply`] for each object that exists, then
/// [`Event::InitDone`]. Changes follow as [`Event::Apply`] and [`Event::Delete`]. When the watcher has to list again
/// (history expired, storage restored) the sequence starts over with `Init`; an object that is not among the
/// `InitApply`s of a finished list is gone, without a `Delete` of its own, unless the error ahead of `InitDone` names it as
/// one that cannot be decoded. A list that fails half-way is followed by another `Init`.
///
/// Changes that follow each other quickly may arrive as one, and deletions can be missed while disconnected: use a
/// finalizer where a deletion must be seen.
#[derive(Clone, Debug)]
pub enum Event<K> {
    /// The object was created or changed.
    Apply(K),
    /// The object is gone; this is its last state.
    Delete(K),
    /// A list starts: what follows up to [`Event::InitDone`] replaces everything known.
    Init,
    /// The object exists; part of a list.
    InitApply(K),
    /// The list is complete.
    InitDone,
}

/// What a watcher knows about its collection, for the other parts of this crate. [`Event`] is its projection.
///
/// The order is that of [`Event`], with [`Synced`](Self::Synced) in the place of `InitDone`. A list that fails half-way is followed by
/// another `Init`, and `Undecodable` may come within a list and after it.
///
/// A `resource_version` is a statement about the whole collection: every change up to it has been told. It is empty where the
/// server's versions cannot be compared between objects. From then on, and until a `Synced` that has one, no version of an
/// object says anything about any other object.
#[derive(Clone, Debug)]
pub(crate) enum CollectionEvent<K> {
    /// A list starts: what follows up to `Synced` replaces everything known.
    Init,
    /// The object exists; part of a list.
    InitApply(K),
    /// The list is complete. What it has brought neither as `InitApply` nor as `Undecodable` does not exist.
    Synced { resource_version: String },
    /// The object was created or changed.
    Apply(K),
    /// The object is gone; this is its last state.
    Delete(K),
    /// A bookmark, or the end of a watch that lived: nothing else changed up to this version.
    Progress { resource_version: String },
    /// The object exists and cannot be decoded; or, if it was `deleted`, it is gone and its last state cannot be decoded. Comes
    /// within lists and between them.
    Undecodable(UndecodableObject),
}

impl<K> Event<K> {
    /// The object that exists by this event, if it tells of one.
    pub(crate) fn into_applied(self) -> Option<K> {
        match self {
            Self::Apply(object) | Self::InitApply(object) => Some(object),
            Self::Delete(_) | Self::Init | Self::InitDone => None,
        }
    }

    /// The same event about what `f` makes of its object.
    pub(crate) fn map<T>(self, f: impl FnOnce(K) -> T) -> Event<T> {
        match self {
            Self::Apply(object) => Event::Apply(f(object)),
            Self::Delete(object) => Event::Delete(f(object)),
            Self::Init => Event::Init,
            Self::InitApply(object) => Event::InitApply(f(object)),
            Self::InitDone => Event::InitDone,
        }
    }

    /// The object this event is about, deleted or not.
    pub(crate) fn into_touched(self) -> Option<K> {
        match self {
            Self::Apply(object) | Self::InitApply(object) | Self::Delete(object) => Some(object),
            Self::Init | Self::InitDone => None,
        }
    }

    /// Lets `f` change the object in place, if there is one.
    #[must_use]
    pub fn modify(mut self, mut f: impl FnMut(&mut K)) -> Self {
        match &mut self {
            Self::Apply(object) | Self::InitApply(object) | Self::Delete(object) => f(object),
            Self::Init | Self::InitDone => {}
        }
        self
    }
}

impl<K: ResourceExt> fmt::Display for Event<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, object) = match self {
            Self::Init => return f.write_str("Init"),
            Self::InitDone => return f.write_str("InitDone"),
            Self::Apply(object) => ("Apply", object),
            Self::InitApply(object) => ("InitApply", object),
            Self::Delete(object) => ("Delete", object),
        };
        match object.namespace() {
            Some(namespace) => write!(f, "{what}({namespace}/{})", object.name_any()),
            None => write!(f, "{what}({})", object.name_any()),
        }
    }
}
