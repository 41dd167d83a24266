//! Learning what is there: paged lists and streaming lists.

use super::{
    CollectionEvent, Error, Result,
    config::Freshness,
    fault::Fault,
    machine::{Listing, Machine, Read, Turn},
    retry::RetryClass,
    state::{InitListed, InitPage, Page, State},
    undecodable::UndecodableObject,
};
use kube_core::{
    DeserializeGuard, ObjectList, Resource, WatchEvent, error_boundary::InvalidObject, watch::Bookmark,
};
use std::{io, time::Duration};
use tokio::time::Instant;

/// The annotation of the bookmark that ends a streaming list.
const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";

type Emit<K> = Vec<Result<CollectionEvent<K>>>;

impl Machine {
    pub(super) fn page_arrived<K: Resource + Clone>(
        &mut self,
        InitPage { page }: InitPage,
        list: ObjectList<DeserializeGuard<K>>,
        emit: &mut Emit<K>,
    ) -> Turn {
        if !matches!(page, Page::Next(_)) {
            emit.push(Ok(CollectionEvent::Init));
        }
        let versions = list.items.iter().filter_map(|item| item.meta().resource_version.as_deref());
        let of_list = list.metadata.resource_version.as_deref().unwrap_or_default();
        self.versions.list_contains(of_list, versions);
        emit.reserve(list.items.len() + 2);
        for item in list.items {
            match item.0 {
                Ok(object) => emit.push(Ok(CollectionEvent::InitApply(object))),
                Err(invalid) => emit.push(Ok(exists(invalid))),
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
                self.start_over(RetryClass::Persistent)
            }
        }
    }

    pub(super) fn list_failed<K>(
        &mut self,
        list: InitPage,
        error: kube_client::Error,
        emit: &mut Emit<K>,
    ) -> Turn {
        let fault = Fault::of(&error);
        if let (Page::Next(_), Fault::Expired | Fault::Refused) = (&list.page, &fault) {
            // Starting over page by page could lose the same race for ever.
            tracing::debug!(%error, "the continue token of a list is no longer valid, listing everything at once");
            return (State::InitPage(InitPage { page: Page::Whole }), Duration::ZERO);
        }
        emit.push(Err(Error::InitialListFailed(error)));
        let wait = self.retry.after(&fault);
        if fault.loses_version() {
            self.freshness = Freshness::MostRecent;
            return self.start_over_in(wait);
        }
        (State::InitPage(list), wait)
    }

    pub(super) fn streaming_list_refused<K>(
        &mut self,
        error: kube_client::Error,
        emit: &mut Emit<K>,
    ) -> Turn {
        let fault = Fault::of(&error);
        emit.push(Err(Error::WatchStartFailed(error)));
        self.stream_again(fault)
    }

    pub(super) fn initial_event<K: Resource>(
        &mut self,
        read: Read<K>,
        now: Instant,
        emit: &mut Emit<K>,
    ) -> Turn {
        match read {
            Read::Message(
                WatchEvent::Added(DeserializeGuard(object)) | WatchEvent::Modified(DeserializeGuard(object)),
            ) => match object {
                Ok(object) => emit.push(Ok(CollectionEvent::InitApply(object))),
                Err(invalid) => emit.push(Ok(exists(invalid))),
            },
            Read::Message(WatchEvent::Deleted(DeserializeGuard(object))) => {
                if self.deleted(object, emit) {
                    return self.start_over(RetryClass::Transient);
                }
            }
            Read::Message(WatchEvent::Bookmark(bookmark)) => {
                if ends_the_list(&bookmark) {
                    let version = bookmark.metadata.resource_version;
                    self.finish_list(&version, emit);
                    return (InitListed { version }.started(now), Duration::ZERO);
                }
            }
            Read::Message(WatchEvent::Error(status)) => {
                let fault = Fault::of_status(&status);
                emit.push(Err(Error::WatchError(status)));
                return self.stream_again(fault);
            }
            Read::Broken(error) => {
                let fault = Fault::of(&error);
                emit.push(Err(Error::WatchFailed(error)));
                if fault == Fault::Undecodable {
                    self.listing = Listing::PagedOnce; // nobody knows which object is missing
                    return self.start_over(RetryClass::Transient);
                }
                return self.stream_again(fault);
            }
            Read::Ended | Read::Silent => {
                let what = "the server did not finish the streaming list; listing page by page instead";
                let error = io::Error::new(io::ErrorKind::UnexpectedEof, what);
                emit.push(Err(Error::WatchFailed(kube_client::Error::ReadEvents(error))));
                self.listing = Listing::PagedOnce;
                return self.start_over(RetryClass::Transient);
            }
        }
        (State::InitialEvents, Duration::ZERO)
    }

    /// A streaming list failed: tries it again, or gives it up for good where the server does not take it.
    fn stream_again(&mut self, fault: Fault) -> Turn {
        if fault == Fault::Refused {
            self.listing = Listing::Paged;
            return self.start_over(RetryClass::Transient);
        }
        if fault.loses_version() {
            self.freshness = Freshness::MostRecent;
        }
        let wait = self.retry.after(&fault);
        self.start_over_in(wait)
    }

    fn finish_list<K>(&mut self, version: &str, emit: &mut Emit<K>) {
        self.versions.listed(version);
        emit.push(Ok(CollectionEvent::Synced { resource_version: self.versions.of_collection(version) }));
        if self.listing == Listing::PagedOnce {
            self.listing = Listing::Streamed;
        }
    }
}

fn exists<K>(invalid: InvalidObject) -> CollectionEvent<K> {
    CollectionEvent::Undecodable(UndecodableObject::new(invalid, false))
}

fn ends_the_list(bookmark: &Bookmark) -> bool {
    bookmark.metadata.annotations.get(INITIAL_EVENTS_END).is_some_and(|value| value == "true")
}
