//! Following changes from a version on.

use super::{
    CollectionEvent, Error, Result,
    fault::Fault,
    machine::{Machine, Read, Turn},
    retry::RetryClass,
    state::{InitListed, State, Watching},
    undecodable::UndecodableObject,
};
use crate::version::{number, went_back};
use kube_core::{
    DeserializeGuard, Resource, Status, WatchEvent, error_boundary::InvalidObject, response::reason,
};
use std::{io, time::Duration};
use tokio::time::Instant;

/// After so many failures of the server to serve one version, a list is tried instead.
const TRIES_PER_VERSION: u32 = 3;

type Emit<K> = Vec<Result<CollectionEvent<K>>>;

impl InitListed {
    /// After a list.
    pub(super) fn at(version: String) -> Self {
        Self { version, in_vain: 0 }
    }

    pub(super) fn started(self, now: Instant) -> State {
        let Self { version, in_vain } = self;
        State::Watching(Watching { version, since: now, progressed: false, heard: false, in_vain })
    }

    /// The state in which the server is asked for its version before the next watch. Versions that are no numbers
    /// cannot be compared, so asking is no use.
    fn in_doubt(self) -> State {
        match number(&self.version) {
            Some(_) => State::Doubtful(self),
            None => State::InitListed(self),
        }
    }
}

impl Watching {
    /// Notes that the watch reached `version`, which may be empty or the same as before.
    fn advance(&mut self, version: &str) {
        if !version.is_empty() && version != self.version {
            version.clone_into(&mut self.version);
        }
    }

    /// What follows when the watch is over.
    ///
    /// A server whose storage was replaced by an older one would keep the next watch open without a word until it has
    /// reached our version again. Only a watch that ended when its time was over, and brought something until then, shows that
    /// this has not happened.
    fn resume(self, on_time: bool) -> State {
        let trusted = on_time && self.heard;
        let listed = InitListed { version: self.version, in_vain: self.in_vain };
        if trusted { State::InitListed(listed) } else { listed.in_doubt() }
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
            fault @ (Fault::Busy { .. } | Fault::Internal | Fault::Broken | Fault::UnknownKind) => {
                emit.push(Err(Error::WatchStartFailed(error)));
                self.after_fault(fault, listed, State::Doubtful)
            }
            // In its first moments a server refuses everybody whose roles it has not read yet. And who may list only what
            // the selectors of the watch select is never answered; such lists are small.
            Fault::Forbidden => {
                tracing::debug!(%error, "may not ask for the server's version; listing again");
                self.seen = Some(listed.version);
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
        let again = if fault == Fault::Broken { InitListed::in_doubt } else { State::InitListed };
        self.after_fault(fault, listed, again)
    }

    pub(super) fn watched<K: Resource>(
        &mut self,
        mut watch: Watching,
        read: Read<K>,
        now: Instant,
        emit: &mut Emit<K>,
    ) -> Turn {
        let on_time = self.config.is_full_life(now.duration_since(watch.since));
        match read {
            Read::Message(message) => self.message(watch, message, emit),
            Read::Broken(error) => {
                let fault = Fault::of(&error);
                emit.push(Err(Error::WatchFailed(error)));
                if fault == Fault::Undecodable {
                    return (State::Watching(watch), Duration::ZERO); // one unreadable line; the next may be fine
                }
                self.note_good_life(&mut watch, now);
                (watch.resume(false), self.retry.next(RetryClass::Transient))
            }
            Read::Ended if self.note_good_life(&mut watch, now) => (watch.resume(on_time), Duration::ZERO),
            Read::Ended => {
                let what = "the server closed the watch at once";
                emit.push(Err(broken(io::ErrorKind::UnexpectedEof, what)));
                (watch.resume(on_time), self.retry.next(RetryClass::Transient))
            }
            Read::Silent => {
                let what = "the watch was silent for longer than the server should keep it open";
                emit.push(Err(broken(io::ErrorKind::TimedOut, what)));
                (watch.resume(false), self.retry.next(RetryClass::Transient))
            }
        }
    }

    fn message<K: Resource>(
        &mut self,
        mut watch: Watching,
        message: WatchEvent<DeserializeGuard<K>>,
        emit: &mut Emit<K>,
    ) -> Turn {
        let deleted = matches!(message, WatchEvent::Deleted(_));
        watch.heard |= !matches!(message, WatchEvent::Error(_));
        match message {
            WatchEvent::Added(DeserializeGuard(object))
            | WatchEvent::Modified(DeserializeGuard(object))
            | WatchEvent::Deleted(DeserializeGuard(object)) => {
                let meta = object.as_ref().map_or_else(|invalid| &invalid.metadata, Resource::meta);
                let version = meta.resource_version.as_deref().unwrap_or_default();
                if went_back(&watch.version, version) {
                    // A deletion may carry the version of the last state before it.
                    if !deleted {
                        return self.rewound(&watch.version, version, emit);
                    }
                } else {
                    watch.progressed |= version != watch.version;
                    watch.advance(version);
                }
                match object {
                    object if deleted => {
                        if self.deleted(object, emit) {
                            self.seen = Some(watch.version);
                            return self.start_over(RetryClass::Transient);
                        }
                    }
                    Ok(object) => emit.push(Ok(CollectionEvent::Apply(object))),
                    Err(invalid) => {
                        let object = UndecodableObject::new(invalid, false);
                        emit.push(Ok(CollectionEvent::Undecodable(object)));
                    }
                }
            }
            WatchEvent::Bookmark(bookmark) => {
                let version = bookmark.metadata.resource_version;
                if went_back(&watch.version, &version) {
                    return self.rewound(&watch.version, &version, emit);
                }
                watch.advance(&version);
                emit.push(Ok(CollectionEvent::Progress { resource_version: version }));
            }
            WatchEvent::Error(status) => {
                let fault = Fault::of_status(&status);
                emit.push(Err(Error::WatchError(status)));
                let in_vain = if watch.progressed { 0 } else { watch.in_vain };
                let listed = InitListed { version: watch.version, in_vain };
                return self.after_fault(fault, listed, State::InitListed);
            }
        }
        (State::Watching(watch), Duration::ZERO)
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

    /// The server's storage is older than what was seen before, as after a restore: nothing known counts.
    fn rewound<K>(&mut self, last: &str, new: &str, emit: &mut Emit<K>) -> Turn {
        let what = format!(
            "resourceVersion went back from {last} to {new}: was the storage restored? Listing again"
        );
        emit.push(Err(Error::WatchError(Status::failure(&what, reason::EXPIRED).with_code(410).boxed())));
        self.seen = None;
        self.start_over(RetryClass::Transient)
    }

    /// What follows a fault: the same once more, in the state that `again` makes, or a list.
    fn after_fault(&mut self, fault: Fault, listed: InitListed, again: fn(InitListed) -> State) -> Turn {
        let wait = self.retry.after(&fault);
        let exhausted = listed.in_vain + 1 >= TRIES_PER_VERSION;
        match fault {
            Fault::Busy { .. } | Fault::Forbidden | Fault::Refused | Fault::Undecodable | Fault::Broken => {
                (again(listed), wait)
            }
            Fault::Internal if !exhausted => {
                (again(InitListed { in_vain: listed.in_vain + 1, ..listed }), wait)
            }
            Fault::Internal | Fault::Expired => {
                self.seen = Some(listed.version);
                self.start_over_in(wait)
            }
            // Neither a storage that is older nor a kind that comes back later owes us anything.
            Fault::Behind | Fault::UnknownKind => {
                self.seen = None;
                self.start_over_in(wait)
            }
        }
    }

    /// Whether the watch that has just ended did its work. If so, past failures are forgotten.
    fn note_good_life(&mut self, watch: &mut Watching, now: Instant) -> bool {
        let good = watch.progressed || now.duration_since(watch.since) >= self.config.good_life();
        if good {
            watch.in_vain = 0;
            self.retry.reset();
        }
        good
    }
}

fn broken(kind: io::ErrorKind, what: &str) -> Error {
    Error::WatchFailed(kube_client::Error::ReadEvents(io::Error::new(kind, what)))
}
