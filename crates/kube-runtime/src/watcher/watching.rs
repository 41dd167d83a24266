//! Following changes from a version on.

use super::{
    CollectionEvent, Error, Result,
    config::Freshness,
    fault::Fault,
    machine::{Machine, Read, Turn},
    retry::RetryClass,
    state::{InitListed, State, Watching},
    undecodable::UndecodableObject,
    versions::Verdict,
};
use crate::version::went_back;
use kube_core::{
    DeserializeGuard, Resource, Status, WatchEvent, error_boundary::InvalidObject, response::reason,
};
use std::{io, time::Duration};
use tokio::time::Instant;

/// After so many failures of the server to serve one version, a list is tried instead.
const TRIES_PER_VERSION: u32 = 3;

type Emit<K> = Vec<Result<CollectionEvent<K>>>;

/// How a watch ended.
enum End {
    /// The server closed it.
    Closed,
    /// Nothing came for longer than the server should have kept it open.
    Silent,
    Broken(kube_client::Error),
    /// The server said that it failed.
    Reported(Box<Status>),
    /// This version is lower than the one before.
    Regressed(String),
    /// An object was deleted, and it cannot be said which.
    UnknownDeletion,
}

impl InitListed {
    pub(super) fn started(self, now: Instant) -> State {
        State::Watching(Watching { version: self.version, since: now, progressed: false, heard: false })
    }
}

impl Watching {
    /// Notes that the watch reached `version`, which may be empty or the same as before.
    fn advance(&mut self, version: &str) {
        if !version.is_empty() && version != self.version {
            version.clone_into(&mut self.version);
        }
    }
}

impl Machine {
    /// The server has said how far its storage is, or has not.
    pub(super) fn probed<K>(
        &mut self,
        listed: InitListed,
        answer: Result<String, kube_client::Error>,
        emit: &mut Emit<K>,
    ) -> Turn {
        let error = match answer {
            Ok(version) if went_back(&listed.version, &version) => {
                return self.rewound(&listed.version, &version, emit);
            }
            Ok(_) => return (State::InitListed(listed), Duration::ZERO),
            Err(error) => error,
        };
        match Fault::of(&error) {
            // Of an unknown kind too: a server that has just started does not know custom resources yet. A moment later it
            // may, and would open a watch without a word about its version.
            fault @ (Fault::Busy { .. }
            | Fault::Internal
            | Fault::Broken
            | Fault::Silent
            | Fault::UnknownKind) => {
                emit.push(Err(Error::WatchStartFailed(error)));
                self.after_fault(&fault, listed, |_, listed| State::Doubtful(listed))
            }
            // In its first moments a server refuses everybody whose roles it has not read yet. And who may list only what
            // the selectors of the watch select is never answered; such lists are small.
            Fault::Forbidden => {
                tracing::debug!(%error, "may not ask for the server's version; listing again");
                self.freshness = Freshness::MostRecent;
                self.start_over(RetryClass::Transient)
            }
            _ => {
                tracing::debug!(%error, "the server does not tell its version; the watch will tell what is wrong");
                (State::InitListed(listed), Duration::ZERO)
            }
        }
    }

    pub(super) fn watch_refused<K>(
        &mut self,
        listed: InitListed,
        error: kube_client::Error,
        emit: &mut Emit<K>,
    ) -> Turn {
        let fault = Fault::of(&error);
        emit.push(Err(Error::WatchStartFailed(error)));
        match fault {
            Fault::Broken | Fault::Silent => self.after_fault(&fault, listed, Self::in_doubt),
            _ => self.after_fault(&fault, listed, |_, listed| State::InitListed(listed)),
        }
    }

    pub(super) fn watched<K: Resource>(
        &mut self,
        mut watch: Watching,
        read: Read<K>,
        now: Instant,
        emit: &mut Emit<K>,
    ) -> Turn {
        let end = match read {
            Read::Message(message) => self.message(&mut watch, message, emit),
            Read::Broken(error) => Some(End::Broken(error)),
            Read::Ended => Some(End::Closed),
            Read::Silent => Some(End::Silent),
        };
        match end {
            Some(end) => self.ended(watch, end, now, emit),
            None => (State::Watching(watch), Duration::ZERO),
        }
    }

    fn message<K: Resource>(
        &mut self,
        watch: &mut Watching,
        message: WatchEvent<DeserializeGuard<K>>,
        emit: &mut Emit<K>,
    ) -> Option<End> {
        let deleted = matches!(message, WatchEvent::Deleted(_));
        watch.heard = true;
        match message {
            WatchEvent::Added(DeserializeGuard(object))
            | WatchEvent::Modified(DeserializeGuard(object))
            | WatchEvent::Deleted(DeserializeGuard(object)) => {
                let meta = object.as_ref().map_or_else(|invalid| &invalid.metadata, Resource::meta);
                let version = meta.resource_version.as_deref().unwrap_or_default();
                // A deletion may carry the version of the last state before it.
                if !(deleted && went_back(&watch.version, version)) {
                    let news = version != watch.version;
                    if let Some(end) = self.reach(watch, version, emit) {
                        return Some(end);
                    }
                    watch.progressed |= news;
                }
                match object {
                    Ok(object) if !deleted => emit.push(Ok(CollectionEvent::Apply(object))),
                    Err(invalid) if !deleted => {
                        let object = UndecodableObject::new(invalid, false);
                        emit.push(Ok(CollectionEvent::Undecodable(object)));
                    }
                    object => return self.deleted(object, emit).then_some(End::UnknownDeletion),
                }
            }
            WatchEvent::Bookmark(bookmark) => {
                let version = bookmark.metadata.resource_version;
                if let Some(end) = self.reach(watch, &version, emit) {
                    return Some(end);
                }
                let resource_version = self.versions.of_collection(&version);
                emit.push(Ok(CollectionEvent::Progress { resource_version }));
            }
            WatchEvent::Error(status) => return Some(End::Reported(status)),
        }
        None
    }
    /// Notes that the watch has reached a version, or says that it can't be.
    fn reach<K>(&mut self, watch: &mut Watching, version: &str, emit: &mut Emit<K>) -> Option<End> {
        match self.versions.brought(&watch.version, version) {
            Verdict::Fine => {}
            Verdict::Older => return Some(End::Regressed(version.to_owned())),
            Verdict::TurnedOpaque => {
                tracing::warn!("resourceVersions of this API cannot be compared between objects");
                emit.push(Ok(CollectionEvent::Progress { resource_version: String::new() }));
            }
        }
        watch.advance(version);
        None
    }

    /// Reports that an object was deleted. Whether a list has to follow, as it cannot be said which.
    pub(super) fn deleted<K>(&self, object: Result<K, InvalidObject>, emit: &mut Emit<K>) -> bool {
        match object {
            Ok(object) => {
                emit.push(Ok(CollectionEvent::Delete(object)));
                false
            }
            Err(invalid) => {
                let object = UndecodableObject::new(invalid, true);
                let unknown = self.relist_undecodable_deletions || object.name.is_empty();
                emit.push(Ok(CollectionEvent::Undecodable(object)));
                unknown
            }
        }
    }

    /// What follows when a watch is over.
    fn ended<K>(&mut self, watch: Watching, end: End, now: Instant, emit: &mut Emit<K>) -> Turn {
        let lasted = now.duration_since(watch.since);
        let healthy = match end {
            End::Silent => watch.heard,                                // or nobody was there
            End::UnknownDeletion => lasted >= self.config.good_life(), // or each one would be a list at the shortest wait
            _ => watch.progressed || lasted >= self.config.good_life(),
        };
        if healthy {
            self.forget_failures();
            let resource_version = self.versions.of_collection(&watch.version);
            emit.push(Ok(CollectionEvent::Progress { resource_version }));
        }
        let Watching { version, heard, .. } = watch;
        match end {
            End::Closed if healthy => {
                let trusted = heard && self.config.is_full_life(lasted);
                (self.resume(version, trusted), Duration::ZERO)
            }
            End::Closed => {
                emit.push(Err(broken(io::ErrorKind::UnexpectedEof, "the server closed the watch at once")));
                (self.resume(version, false), self.retry.next(RetryClass::Transient))
            }
            End::Silent => {
                let what = "the watch was silent for longer than the server should keep it open";
                emit.push(Err(broken(io::ErrorKind::TimedOut, what)));
                (self.resume(version, false), self.retry.next(RetryClass::Transient))
            }
            End::Broken(error) if healthy && Fault::of(&error) == Fault::Silent => {
                tracing::debug!(%error, "resuming a watch on which nothing came");
                (self.resume(version, false), Duration::ZERO)
            }
            // A line that cannot be read, too: what it told is asked for again.
            End::Broken(error) => {
                let fault = Fault::of(&error);
                emit.push(Err(Error::WatchFailed(error)));
                self.after_fault(&fault, InitListed { version }, Self::in_doubt)
            }
            End::Reported(status) => {
                let fault = Fault::of_status(&status);
                emit.push(Err(Error::WatchError(status)));
                self.after_fault(&fault, InitListed { version }, |_, listed| State::InitListed(listed))
            }
            End::Regressed(new) => self.rewound(&version, &new, emit),
            End::UnknownDeletion => {
                self.freshness = Freshness::NotOlderThan(version);
                self.start_over(RetryClass::Transient)
            }
        }
    }

    /// The state from which a watch is resumed.
    ///
    /// A server whose storage was replaced by an older one would keep the next watch open without a word until it has
    /// reached our version again. Only a watch that ended when its time was over, and brought something until then, is
    /// `trusted` to show that this has not happened.
    fn resume(&self, version: String, trusted: bool) -> State {
        let listed = InitListed { version };
        if trusted { State::InitListed(listed) } else { self.in_doubt(listed) }
    }

    /// The state in which the server is asked for its version before the next watch, where versions can be compared.
    fn in_doubt(&self, listed: InitListed) -> State {
        if self.versions.comparable(&listed.version) {
            State::Doubtful(listed)
        } else {
            State::InitListed(listed)
        }
    }

    /// The server's storage is older than what was seen before, as after a restore: nothing known counts.
    fn rewound<K>(&mut self, last: &str, new: &str, emit: &mut Emit<K>) -> Turn {
        let what = format!(
            "resourceVersion went back from {last} to {new}: was the storage restored? Listing again"
        );
        emit.push(Err(Error::WatchError(Status::failure(&what, reason::EXPIRED).with_code(410).boxed())));
        self.freshness = Freshness::MostRecent;
        self.start_over(RetryClass::Transient)
    }

    /// What follows a fault: the same once more, in the state that `again` makes, or a list.
    fn after_fault(
        &mut self,
        fault: &Fault,
        listed: InitListed,
        again: fn(&Self, InitListed) -> State,
    ) -> Turn {
        self.freshness = match fault {
            Fault::Internal | Fault::Undecodable if self.is_exhausted() => {
                Freshness::NotOlderThan(listed.version)
            }
            _ if fault.loses_version() => Freshness::MostRecent,
            _ => return (again(self, listed), self.retry.after(fault)),
        };
        self.start_over(RetryClass::of(fault))
    }

    /// Counts a failure of the server to serve a version. Whether there were enough for a list. Each list that did not help
    /// makes the next one rarer.
    fn is_exhausted(&mut self) -> bool {
        self.failures += 1;
        let tries = TRIES_PER_VERSION.saturating_mul(4_u32.saturating_pow(self.relists));
        let exhausted = self.failures >= tries;
        if exhausted {
            self.failures = 0;
        }
        exhausted
    }
}

fn broken(kind: io::ErrorKind, what: &str) -> Error {
    Error::WatchFailed(kube_client::Error::ReadEvents(io::Error::new(kind, what)))
}
