//! Transitions of watches, and of the version check between two watches.

use super::{
    CollectionEvent, Error, Result,
    config::Freshness,
    error::{RequestError, erased, watch_failed},
    machine::{Emit, InitListed, Machine, Read, State, Transition, Watching},
    retry::RetryClass,
    undecodable::UndecodableObject,
    versions::VersionOrder,
};
use crate::version::regressed;
use kube_client::error::ErrorClass;
use kube_core::{DeserializeGuard, Resource, Status, WatchEvent, error_boundary::InvalidObject};
use std::{io, time::Duration};
use tokio::time::Instant;

/// After this many failures of the server to serve a version the watcher relists.
const ATTEMPTS_PER_VERSION: u32 = 3;

/// How a watch ended.
enum WatchEnd {
    Closed,
    IdleTimeout,
    Failed(RequestError),
    /// The server sent an `ERROR` event.
    ErrorEvent(Box<Status>),
    /// This version is lower than the one before.
    VersionRegressed(String),
    /// An object was deleted whose name is not known.
    UnidentifiedDeletion,
}

impl Machine {
    pub(super) fn version_checked<K>(
        &mut self,
        listed: InitListed,
        result: Result<String, RequestError>,
        emit: &mut Emit<K>,
    ) -> Transition {
        let error = match result {
            Ok(version) if regressed(&listed.version, &version) => {
                return self.version_regressed(&listed.version, &version, emit);
            }
            Ok(_) => return (State::InitListed(listed), Duration::ZERO),
            Err(error) => error,
        };
        match ErrorClass::of(error.get()) {
            // UnknownKind too: a starting server does not serve custom resources yet. A moment later it would accept a
            // watch from a version that its storage has not reached.
            class @ (ErrorClass::Throttled { .. }
            | ErrorClass::Internal
            | ErrorClass::Conflict
            | ErrorClass::ConnectionFailed
            | ErrorClass::Unreachable
            | ErrorClass::IdleTimeout
            | ErrorClass::NotFound
            | ErrorClass::UnknownKind) => {
                emit.push(Err(erased(Error::WatchStartFailed, error)));
                self.after_error(&class, listed, |_, listed| State::VerifyingVersion(listed))
            }
            // A starting server refuses all users until it has read their roles. A user who may list only what the
            // selectors of the watch select is always refused; such lists are small.
            ErrorClass::Forbidden => {
                tracing::debug!(%error, "not allowed to read the server's version; relisting");
                self.freshness = Freshness::MostRecent;
                self.relist_of_many(RetryClass::Transient)
            }
            _ => {
                tracing::debug!(%error, "failed to read the server's version; watching without the check");
                (State::InitListed(listed), Duration::ZERO)
            }
        }
    }

    pub(super) fn watch_refused<K>(
        &mut self,
        listed: InitListed,
        error: RequestError,
        emit: &mut Emit<K>,
    ) -> Transition {
        let class = ErrorClass::of(error.get());
        emit.push(Err(erased(Error::WatchStartFailed, error)));
        match class {
            ErrorClass::ConnectionFailed | ErrorClass::Unreachable | ErrorClass::IdleTimeout => {
                self.after_error(&class, listed, Self::verify_version)
            }
            _ => self.after_error(&class, listed, |_, listed| State::InitListed(listed)),
        }
    }

    pub(super) fn watch_read<K: Resource>(
        &mut self,
        mut watch: Watching,
        read: Read<K>,
        now: Instant,
        emit: &mut Emit<K>,
    ) -> Transition {
        let end = match read {
            Read::Message(message) => self.message(&mut watch, message, emit),
            Read::Failed(error) => Some(WatchEnd::Failed(error)),
            Read::Closed => Some(WatchEnd::Closed),
            Read::IdleTimeout => Some(WatchEnd::IdleTimeout),
        };
        match end {
            Some(end) => self.watch_ended(watch, end, now, emit),
            None => (State::Watching(watch), Duration::ZERO),
        }
    }

    fn message<K: Resource>(
        &mut self,
        watch: &mut Watching,
        message: WatchEvent<DeserializeGuard<K>>,
        emit: &mut Emit<K>,
    ) -> Option<WatchEnd> {
        let deleted = matches!(message, WatchEvent::Deleted(_));
        watch.received_any = true;
        match message {
            WatchEvent::Added(DeserializeGuard(object))
            | WatchEvent::Modified(DeserializeGuard(object))
            | WatchEvent::Deleted(DeserializeGuard(object)) => {
                let meta = object.as_ref().map_or_else(|invalid| &invalid.metadata, Resource::meta);
                let version = meta.resource_version.as_deref().unwrap_or_default();
                // A deletion may carry the version of the object's last state.
                if !(deleted && regressed(&watch.version, version)) {
                    let is_new = version != watch.version;
                    if let Some(end) = self.advance_to(watch, version, emit) {
                        return Some(end);
                    }
                    watch.progressed |= is_new;
                }
                match object {
                    Ok(object) if !deleted => emit.push(Ok(CollectionEvent::Apply(object))),
                    Err(invalid) if !deleted => {
                        let object = UndecodableObject::new(invalid, false);
                        emit.push(Ok(CollectionEvent::Undecodable(object)));
                    }
                    object => {
                        return self.emit_deletion(object, emit).then_some(WatchEnd::UnidentifiedDeletion);
                    }
                }
            }
            WatchEvent::Bookmark(bookmark) => {
                let version = bookmark.metadata.resource_version;
                if let Some(end) = self.advance_to(watch, &version, emit) {
                    return Some(end);
                }
                let resource_version = self.versions.collection_version(&version);
                emit.push(Ok(CollectionEvent::Progress { resource_version }));
            }
            WatchEvent::Error(status) => return Some(WatchEnd::ErrorEvent(status)),
        }
        None
    }

    /// Advances the watch to a version, or ends it if the version regressed.
    fn advance_to<K>(&mut self, watch: &mut Watching, version: &str, emit: &mut Emit<K>) -> Option<WatchEnd> {
        match self.versions.observe(&watch.version, version) {
            VersionOrder::InOrder => {}
            VersionOrder::Regressed => return Some(WatchEnd::VersionRegressed(version.to_owned())),
            VersionOrder::BecameOpaque => {
                tracing::warn!("resourceVersions of this API cannot be compared between objects");
                emit.push(Ok(CollectionEvent::Progress { resource_version: String::new() }));
            }
        }
        watch.advance(version);
        None
    }

    /// Emits a deletion. Returns whether a relist has to follow, because the consumer cannot tell which object was deleted.
    pub(super) fn emit_deletion<K>(&self, object: Result<K, InvalidObject>, emit: &mut Emit<K>) -> bool {
        match object {
            Ok(object) => {
                emit.push(Ok(CollectionEvent::Delete(object)));
                false
            }
            Err(invalid) => {
                let object = UndecodableObject::new(invalid, true);
                let relist = self.relist_undecodable_deletions || object.name.is_empty();
                emit.push(Ok(CollectionEvent::Undecodable(object)));
                relist
            }
        }
    }

    fn watch_ended<K>(
        &mut self,
        watch: Watching,
        end: WatchEnd,
        now: Instant,
        emit: &mut Emit<K>,
    ) -> Transition {
        let lasted = now.duration_since(watch.since);
        let lasted_long = lasted >= self.config.healthy_after();
        let healthy = match end {
            WatchEnd::IdleTimeout => watch.received_any,
            // Changes do not count here, or a relist would follow each such deletion after the shortest wait.
            WatchEnd::UnidentifiedDeletion => lasted_long,
            _ => watch.progressed || lasted_long,
        };
        if healthy {
            self.reset_failures();
            let resource_version = self.versions.collection_version(&watch.version);
            emit.push(Ok(CollectionEvent::Progress { resource_version }));
        }
        let Watching { version, received_any, .. } = watch;
        match end {
            WatchEnd::Closed if healthy => {
                let trusted = received_any && self.config.reached_timeout(lasted);
                (self.resume(version, trusted), Duration::ZERO)
            }
            WatchEnd::Closed => {
                let what = "the server closed the watch at once";
                emit.push(Err(watch_failed(io::ErrorKind::UnexpectedEof, what)));
                (self.resume(version, false), self.retry.next(RetryClass::Transient))
            }
            WatchEnd::IdleTimeout => {
                let what = "the watch was silent for longer than the server should keep it open";
                emit.push(Err(watch_failed(io::ErrorKind::TimedOut, what)));
                (self.resume(version, false), self.retry.next(RetryClass::Transient))
            }
            WatchEnd::Failed(error) if healthy && ErrorClass::of(error.get()) == ErrorClass::IdleTimeout => {
                tracing::debug!(%error, "resuming an idle watch");
                (self.resume(version, false), Duration::ZERO)
            }
            // An unreadable line included: the server sends its event again when the watch resumes.
            WatchEnd::Failed(error) => {
                let class = ErrorClass::of(error.get());
                emit.push(Err(erased(Error::WatchFailed, error)));
                self.after_error(&class, InitListed { version }, Self::verify_version)
            }
            WatchEnd::ErrorEvent(status) => {
                let class = ErrorClass::of_status(&status);
                emit.push(Err(Error::WatchError(status).into()));
                self.after_error(&class, InitListed { version }, |_, listed| State::InitListed(listed))
            }
            WatchEnd::VersionRegressed(new) => self.version_regressed(&version, &new, emit),
            WatchEnd::UnidentifiedDeletion => {
                self.freshness = Freshness::NotOlderThan(version);
                self.relist_of_many(RetryClass::Transient)
            }
        }
    }

    /// The state from which a watch resumes.
    ///
    /// A server whose storage was restored from a backup would keep a watch from our version open and silent until its storage
    /// reaches that version again. So the version is verified first, unless the watch is `trusted`: it ended at its timeout and
    /// received something until then.
    fn resume(&self, version: String, trusted: bool) -> State {
        let listed = InitListed { version };
        if trusted { State::InitListed(listed) } else { self.verify_version(listed) }
    }

    /// The state that verifies the server's version before the next watch, where versions can be compared.
    fn verify_version(&self, listed: InitListed) -> State {
        if self.versions.is_comparable(&listed.version) {
            State::VerifyingVersion(listed)
        } else {
            State::InitListed(listed)
        }
    }

    /// The server's storage is older than before, as after a restore: relists.
    pub(super) fn version_regressed<K>(&mut self, last: &str, new: &str, emit: &mut Emit<K>) -> Transition {
        emit.push(Err(Error::storage_went_back(last, new).into()));
        self.versions.regressed(last);
        self.freshness = Freshness::MostRecent;
        self.relist_of_many(RetryClass::Relist)
    }

    /// After an error: retries in the state that `retry` returns, or relists.
    fn after_error(
        &mut self,
        class: &ErrorClass,
        listed: InitListed,
        retry: fn(&Self, InitListed) -> State,
    ) -> Transition {
        self.freshness = match class {
            ErrorClass::Internal | ErrorClass::Conflict | ErrorClass::Undecodable
                if self.attempts_exhausted() =>
            {
                Freshness::NotOlderThan(listed.version)
            }
            _ if class.invalidates_version() => Freshness::MostRecent,
            _ => return (retry(self, listed), self.retry.after(class)),
        };
        self.relist_of_many(RetryClass::of_relist(class))
    }

    /// Counts a failure of the server to serve a version. Returns whether to relist. Every relist without a healthy watch
    /// afterwards quadruples the number of attempts before the next one.
    fn attempts_exhausted(&mut self) -> bool {
        self.failures += 1;
        let attempts = ATTEMPTS_PER_VERSION.saturating_mul(4_u32.saturating_pow(self.relists));
        let exhausted = self.failures >= attempts;
        if exhausted {
            self.failures = 0;
        }
        exhausted
    }
}
