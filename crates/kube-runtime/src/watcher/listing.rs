//! Transitions of lists: paged lists and streaming lists.

use super::{
    CollectionEvent, Error,
    config::Freshness,
    error_class::ErrorClass,
    machine::{Emit, InitListed, InitPage, ListMethod, Machine, Page, Read, State, Transition},
    retry::RetryClass,
    undecodable::UndecodableObject,
};
use kube_core::{
    DeserializeGuard, ObjectList, Resource, WatchEvent, error_boundary::InvalidObject, watch::Bookmark,
};
use std::{io, time::Duration};
use tokio::time::Instant;

/// The annotation of the bookmark that completes a streaming list.
const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";

impl Machine {
    pub(super) fn page_received<K: Resource + Clone>(
        &mut self,
        InitPage { page }: InitPage,
        list: ObjectList<DeserializeGuard<K>>,
        emit: &mut Emit<K>,
    ) -> Transition {
        if !matches!(page, Page::Next(_)) {
            emit.push(Ok(CollectionEvent::Init));
        }
        let item_versions = list.items.iter().filter_map(|item| item.meta().resource_version.as_deref());
        let list_version = list.metadata.resource_version.as_deref().unwrap_or_default();
        self.versions.observe_list_items(list_version, item_versions);
        emit.reserve(list.items.len() + 2);
        for item in list.items {
            match item.0 {
                Ok(object) => emit.push(Ok(CollectionEvent::InitApply(object))),
                Err(invalid) => emit.push(Ok(listed_undecodable(invalid))),
            }
        }
        if let Some(token) = list.metadata.continue_.filter(|token| !token.is_empty()) {
            return (State::InitPage(InitPage { page: Page::Next(token) }), Duration::ZERO);
        }
        match list.metadata.resource_version.filter(|version| !version.is_empty()) {
            Some(version) => {
                self.finish_list(&version, emit);
                (State::InitListed(InitListed { version }), Duration::ZERO)
            }
            None => {
                emit.push(Err(Error::NoResourceVersion));
                self.relist(RetryClass::Persistent)
            }
        }
    }

    pub(super) fn list_failed<K>(
        &mut self,
        list: InitPage,
        error: kube_client::Error,
        emit: &mut Emit<K>,
    ) -> Transition {
        let class = ErrorClass::of(&error);
        if let (Page::Next(_), ErrorClass::Expired | ErrorClass::InvalidRequest) = (&list.page, &class) {
            // A second paged list could expire again, and so on for ever.
            tracing::debug!(%error, "the continue token of a list expired; listing without pages");
            return (State::InitPage(InitPage { page: Page::Whole }), Duration::ZERO);
        }
        emit.push(Err(Error::InitialListFailed(error)));
        let wait = self.retry.after(&class);
        if class.invalidates_version() {
            self.freshness = Freshness::MostRecent;
            return self.relist_after(wait);
        }
        (State::InitPage(list), wait)
    }

    pub(super) fn streaming_list_refused<K>(
        &mut self,
        error: kube_client::Error,
        emit: &mut Emit<K>,
    ) -> Transition {
        let class = ErrorClass::of(&error);
        emit.push(Err(Error::WatchStartFailed(error)));
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
                    self.finish_list(&version, emit);
                    return (InitListed { version }.watch_started(now), Duration::ZERO);
                }
            }
            Read::Message(WatchEvent::Error(status)) => {
                let class = ErrorClass::of_status(&status);
                emit.push(Err(Error::WatchError(status)));
                return self.retry_streaming_list(class);
            }
            Read::Failed(error) => {
                let class = ErrorClass::of(&error);
                emit.push(Err(Error::WatchFailed(error)));
                if class == ErrorClass::Undecodable {
                    self.list_method = ListMethod::PagedOnce; // the object in the unreadable line is unknown
                    return self.relist(RetryClass::Transient);
                }
                return self.retry_streaming_list(class);
            }
            Read::Closed | Read::IdleTimeout => {
                let what = "the server did not finish the streaming list; listing page by page instead";
                let error = io::Error::new(io::ErrorKind::UnexpectedEof, what);
                emit.push(Err(Error::WatchFailed(kube_client::Error::ReadEvents(error))));
                self.list_method = ListMethod::PagedOnce;
                return self.relist(RetryClass::Transient);
            }
        }
        (State::InitialEvents, Duration::ZERO)
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
        let wait = self.retry.after(&class);
        self.relist_after(wait)
    }

    fn finish_list<K>(&mut self, version: &str, emit: &mut Emit<K>) {
        self.versions.list_completed(version);
        let resource_version = self.versions.collection_version(version);
        emit.push(Ok(CollectionEvent::Synced { resource_version }));
        if self.list_method == ListMethod::PagedOnce {
            self.list_method = ListMethod::Streamed;
        }
    }
}

fn listed_undecodable<K>(invalid: InvalidObject) -> CollectionEvent<K> {
    CollectionEvent::Undecodable(UndecodableObject::new(invalid, false))
}

fn is_initial_events_end(bookmark: &Bookmark) -> bool {
    bookmark.metadata.annotations.get(INITIAL_EVENTS_END).is_some_and(|value| value == "true")
}
