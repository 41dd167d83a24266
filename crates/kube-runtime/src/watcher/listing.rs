//! Transitions of lists: paged lists and streaming lists.

use super::{
    CollectionEvent, Error,
    config::Freshness,
    error::{RequestError, erased, watch_failed},
    machine::{
        Emit, InitListed, InitPage, ListMethod, Machine, Page, Read, ReceivedItems, State, Transition,
    },
    retry::RetryClass,
    undecodable::UndecodableObject,
};
use crate::version::parse;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ListMeta;
use kube_client::error::ErrorClass;
use kube_core::{DeserializeGuard, Resource, WatchEvent, error_boundary::InvalidObject, watch::Bookmark};
use std::{io, time::Duration};
use tokio::time::Instant;

/// The annotation of the bookmark that completes a streaming list.
const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";

impl Machine {
    pub(super) fn items_received<K: Resource>(
        list: InitPage,
        items: Vec<DeserializeGuard<K>>,
        emit: &mut Emit<K>,
    ) -> Transition {
        let InitPage { page, received } = list;
        emit.reserve_exact(items.len() + 1);
        let mut received = received.unwrap_or_else(|| begin_page(&page, emit));
        for DeserializeGuard(item) in items {
            let metadata = match &item {
                Ok(object) => object.meta(),
                Err(invalid) => &invalid.metadata,
            };
            let version = metadata.resource_version.as_deref().and_then(parse);
            received.highest_version = received.highest_version.max(version);
            emit.push(Ok(match item {
                Ok(object) => CollectionEvent::InitApply(object),
                Err(invalid) => listed_undecodable(invalid),
            }));
        }
        (State::InitPage(InitPage { page, received: Some(received) }), Duration::ZERO)
    }

    /// The page is complete.
    pub(super) fn page_received<K>(
        &mut self,
        InitPage { page, received }: InitPage,
        list: ListMeta,
        emit: &mut Emit<K>,
    ) -> Transition {
        let received = received.unwrap_or_else(|| begin_page(&page, emit));
        let list_version = list.resource_version.as_deref().unwrap_or_default();
        self.versions.observe_list_items(list_version, received.highest_version);
        if let Some(token) = list.continue_.filter(|token| !token.is_empty()) {
            return (State::InitPage(InitPage::request(Page::Next(token))), Duration::ZERO);
        }
        match list.resource_version.filter(|version| !version.is_empty()) {
            Some(version) => match self.finish_list(&version, emit) {
                Ok(()) => (State::InitListed(InitListed { version }), Duration::ZERO),
                Err(relist) => relist,
            },
            None => {
                emit.push(Err(Error::NoResourceVersion.into()));
                self.relist(RetryClass::Persistent)
            }
        }
    }

    pub(super) fn list_failed<K>(
        &mut self,
        list: InitPage,
        error: RequestError,
        emit: &mut Emit<K>,
    ) -> Transition {
        let class = ErrorClass::of(error.get());
        if let (Page::Next(_), ErrorClass::Expired | ErrorClass::InvalidRequest) = (&list.page, &class) {
            // A second paged list could expire again, and so on for ever.
            tracing::debug!(%error, "the continue token of a list expired; listing without pages");
            return (State::InitPage(InitPage::request(Page::Whole)), Duration::ZERO);
        }
        emit.push(Err(erased(Error::InitialListFailed, error)));
        let wait = self.retry.after(&class);
        if class.invalidates_version() {
            self.freshness = Freshness::MostRecent;
            return self.relist_after(wait);
        }
        (State::InitPage(InitPage::request(list.page)), wait)
    }

    pub(super) fn streaming_list_refused<K>(
        &mut self,
        error: RequestError,
        emit: &mut Emit<K>,
    ) -> Transition {
        let class = ErrorClass::of(error.get());
        if self.streams_if_supported() && class == ErrorClass::InvalidRequest {
            tracing::debug!(%error, "the server does not support streaming lists of this kind; listing page by page");
            return self.give_up_streaming();
        }
        emit.push(Err(erased(Error::WatchStartFailed, error)));
        if self.streams_if_supported() && is_cut(&class) {
            self.list_method = ListMethod::PagedOnce; // what is in between may hold it back until it is complete
        }
        self.retry_streaming_list(class)
    }

    pub(super) fn initial_event<K: Resource>(
        &mut self,
        read: Read<K>,
        now: Instant,
        emit: &mut Emit<K>,
    ) -> Transition {
        match read {
            Read::Message(
                WatchEvent::Added(DeserializeGuard(object)) | WatchEvent::Modified(DeserializeGuard(object)),
            ) => match object {
                Ok(object) => emit.push(Ok(CollectionEvent::InitApply(object))),
                Err(invalid) => emit.push(Ok(listed_undecodable(invalid))),
            },
            Read::Message(WatchEvent::Deleted(DeserializeGuard(object))) => {
                if self.emit_deletion(object, emit) {
                    return self.relist(RetryClass::Transient);
                }
            }
            Read::Message(WatchEvent::Bookmark(bookmark)) => {
                if is_initial_events_end(&bookmark) {
                    let version = bookmark.metadata.resource_version;
                    (self.was_silent, self.was_cut) = (false, false);
                    return match self.finish_list(&version, emit) {
                        Ok(()) => (InitListed { version }.watch_started(now), Duration::ZERO),
                        Err(relist) => relist,
                    };
                }
                // A server that knows streaming lists sends no other bookmark before this one.
                if self.streams_if_supported() {
                    return self.give_up_streaming();
                }
            }
            Read::Message(WatchEvent::Error(status)) => {
                let class = ErrorClass::of_status(&status);
                if self.streams_if_supported() && class == ErrorClass::InvalidRequest {
                    return self.give_up_streaming();
                }
                emit.push(Err(Error::WatchError(status).into()));
                return self.retry_streaming_list(class);
            }
            Read::Failed(error) => {
                let class = ErrorClass::of(error.get());
                emit.push(Err(erased(Error::WatchFailed, error)));
                if class == ErrorClass::Undecodable {
                    self.list_method = ListMethod::PagedOnce; // the object in the unreadable line is unknown
                    return self.relist(RetryClass::Transient);
                }
                if is_cut(&class) {
                    self.streaming_list_cut();
                }
                return self.retry_streaming_list(class);
            }
            Read::IdleTimeout if self.streams_if_supported() => return self.streaming_list_silent(),
            Read::Closed | Read::IdleTimeout => {
                let what = "the server did not finish the streaming list; listing page by page instead";
                emit.push(Err(watch_failed(io::ErrorKind::UnexpectedEof, what)));
                self.list_method = ListMethod::PagedOnce;
                return self.relist(RetryClass::Transient);
            }
        }
        (State::InitialEvents, Duration::ZERO)
    }

    /// A streaming list that is silent may be that of a server that takes it for a plain watch, or a dead connection: twice is no accident.
    fn streaming_list_silent(&mut self) -> Transition {
        if std::mem::replace(&mut self.was_silent, true) {
            return self.give_up_streaming();
        }
        self.list_method = ListMethod::PagedOnce;
        self.relist_after(Duration::ZERO)
    }

    /// A list in one response may never pass what its pages do, such as a proxy with a limit of time. Where the program chose it, the first
    /// time is an accident.
    fn streaming_list_cut(&mut self) {
        if std::mem::replace(&mut self.was_cut, true) || self.streams_if_supported() {
            self.list_method = ListMethod::PagedOnce;
            self.was_cut = false;
        }
    }

    /// Retries a failed streaming list. Falls back to paged lists for good if the server does not support it.
    fn retry_streaming_list(&mut self, class: ErrorClass) -> Transition {
        if class == ErrorClass::InvalidRequest {
            self.list_method = ListMethod::Paged;
            return self.relist(RetryClass::Transient);
        }
        if class.invalidates_version() {
            self.freshness = Freshness::MostRecent;
        }
        if self.streams_if_supported() && class == ErrorClass::Internal {
            self.list_method = ListMethod::PagedOnce; // it may fail at this alone
        }
        let wait = self.retry.after(&class);
        self.relist_after(wait)
    }

    /// Completes the list, unless the storage turns out to be older than before: then another one has to follow.
    fn finish_list<K>(&mut self, version: &str, emit: &mut Emit<K>) -> Result<(), Transition> {
        if let Err(reached) = self.versions.list_completed(version) {
            return Err(self.version_regressed(&reached, version, emit));
        }
        let resource_version = self.versions.collection_version(version);
        emit.push(Ok(CollectionEvent::Synced { resource_version }));
        self.list_succeeded();
        Ok(())
    }
}

/// Whether a connection broke, or was silent for too long.
fn is_cut(class: &ErrorClass) -> bool {
    matches!(class, ErrorClass::ConnectionFailed | ErrorClass::IdleTimeout)
}

/// The first part of this page was received.
fn begin_page<K>(page: &Page, emit: &mut Emit<K>) -> ReceivedItems {
    if !matches!(page, Page::Next(_)) {
        emit.push(Ok(CollectionEvent::Init));
    }
    ReceivedItems::default()
}

fn listed_undecodable<K>(invalid: InvalidObject) -> CollectionEvent<K> {
    CollectionEvent::Undecodable(UndecodableObject::new(invalid, false))
}

fn is_initial_events_end(bookmark: &Bookmark) -> bool {
    let is_end = bookmark.metadata.annotations.get(INITIAL_EVENTS_END).is_some_and(|value| value == "true");
    is_end && !bookmark.metadata.resource_version.is_empty() // a watch could not go on from an empty version
}
