//! The events of a watcher: public ones, and those for the rest of this crate.

use super::{error::ErasedResult, undecodable::UndecodableObject};
use kube_core::ResourceExt;
use std::fmt;

/// An event of a [`watcher`](fn@super::watcher).
///
/// # Ordering
///
/// The stream starts with a *list*: [`Event::Init`], then [`Event::InitApply`] for each existing object, then
/// [`Event::InitDone`]. An object may have several `InitApply` in one list, the newest last. Changes follow as [`Event::Apply`] and
/// [`Event::Delete`]. When the watcher relists (history expired, storage restored) the sequence starts over with `Init`. An object without
/// an `InitApply` in a completed list no longer exists and gets no `Delete`, unless the error before `InitDone` names it as one that cannot
/// be decoded. After a list that fails half-way, either the page that failed is requested again and its objects are repeated, or there is
/// another `Init`.
///
/// Several changes in quick succession may arrive as one, and deletions can be missed while disconnected: use a finalizer if a
/// deletion must be seen.
#[derive(Clone, Debug)]
pub enum Event<K> {
    /// The object was created or changed.
    Apply(K),
    /// The object was deleted; this is its last state.
    Delete(K),
    /// A list starts: the objects up to [`Event::InitDone`] replace all known objects.
    Init,
    /// The object exists; part of a list.
    InitApply(K),
    /// The list is complete.
    InitDone,
}

/// An event for the other parts of this crate, with all that the watcher knows about its collection. [`Event`] is the public
/// projection of it.
///
/// The order is that of [`Event`], with [`Synced`](Self::Synced) instead of `InitDone`. `Undecodable` may come within a list and after it.
///
/// A `resource_version` is one of the whole collection: every change up to it has been emitted. It is empty if versions cannot be
/// compared between objects. From then on, and until a `Synced` with a version, versions of different objects must not be compared.
#[derive(Clone, Debug)]
pub(crate) enum CollectionEvent<K> {
    /// A list starts: the objects up to `Synced` replace all known objects.
    Init,
    /// The object exists; part of a list.
    InitApply(K),
    /// The list is complete. An object without an `InitApply` or `Undecodable` in it does not exist.
    Synced { resource_version: String },
    /// The object was created or changed.
    Apply(K),
    /// The object was deleted; this is its last state.
    Delete(K),
    /// A bookmark, or the end of a healthy watch: nothing else changed up to this version.
    Progress { resource_version: String },
    /// The object exists and cannot be decoded; or, if `deleted` is set, it was deleted and its last state cannot be decoded.
    Undecodable(UndecodableObject),
    /// There is no watch, because it is not known whether the server has the kind: nobody waits for its objects.
    Closed,
}

impl<K> CollectionEvent<K> {
    /// The same event with the object that `f` returns.
    pub(crate) fn map<T>(self, f: impl FnOnce(K) -> T) -> CollectionEvent<T> {
        match self {
            Self::Init => CollectionEvent::Init,
            Self::InitApply(object) => CollectionEvent::InitApply(f(object)),
            Self::Synced { resource_version } => CollectionEvent::Synced { resource_version },
            Self::Apply(object) => CollectionEvent::Apply(f(object)),
            Self::Delete(object) => CollectionEvent::Delete(f(object)),
            Self::Progress { resource_version } => CollectionEvent::Progress { resource_version },
            Self::Undecodable(object) => CollectionEvent::Undecodable(object),
            Self::Closed => CollectionEvent::Closed,
        }
    }

    /// The object, deleted or not, if it could be read.
    pub(crate) fn object(&self) -> Option<&K> {
        match self {
            Self::InitApply(object) | Self::Apply(object) | Self::Delete(object) => Some(object),
            Self::Init
            | Self::Synced { .. }
            | Self::Progress { .. }
            | Self::Undecodable(_)
            | Self::Closed => None,
        }
    }

    /// The public event, or an error; `None` for a bookmark.
    pub(crate) fn into_public(self) -> Option<ErasedResult<Event<K>>> {
        match self {
            Self::Init => Some(Ok(Event::Init)),
            Self::InitApply(object) => Some(Ok(Event::InitApply(object))),
            Self::Synced { .. } => Some(Ok(Event::InitDone)),
            Self::Apply(object) => Some(Ok(Event::Apply(object))),
            Self::Delete(object) => Some(Ok(Event::Delete(object))),
            Self::Progress { .. } | Self::Closed => None,
            Self::Undecodable(object) => Some(Err(object.into())),
        }
    }
}

impl<K> Event<K> {
    /// The object, if the event says that it exists.
    pub(crate) fn into_applied(self) -> Option<K> {
        match self {
            Self::Apply(object) | Self::InitApply(object) => Some(object),
            Self::Delete(_) | Self::Init | Self::InitDone => None,
        }
    }

    /// The same event with the object that `f` returns.
    pub(crate) fn map<T>(self, f: impl FnOnce(K) -> T) -> Event<T> {
        match self {
            Self::Apply(object) => Event::Apply(f(object)),
            Self::Delete(object) => Event::Delete(f(object)),
            Self::Init => Event::Init,
            Self::InitApply(object) => Event::InitApply(f(object)),
            Self::InitDone => Event::InitDone,
        }
    }

    /// The object, deleted or not.
    pub(crate) fn into_touched(self) -> Option<K> {
        match self {
            Self::Apply(object) | Self::InitApply(object) | Self::Delete(object) => Some(object),
            Self::Init | Self::InitDone => None,
        }
    }

    /// Calls `f` to change the object in place, if the event has one.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_object_of_an_event_is_applied_or_deleted() {
        for (event, applied, touched) in [
            (Event::Apply(1), Some(1), Some(1)),
            (Event::InitApply(1), Some(1), Some(1)),
            (Event::Delete(1), None, Some(1)),
            (Event::Init, None, None),
            (Event::InitDone, None, None),
        ] {
            assert_eq!((event.clone().into_applied(), event.into_touched()), (applied, touched));
        }
    }
}
