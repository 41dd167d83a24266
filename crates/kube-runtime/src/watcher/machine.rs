//! The watcher as a pure machine: told what came back, it says what to report and what to ask for next.
//!
//! No I/O and no clock in here. [`Machine::next`] names the request or read that the present state needs; the shell
//! performs it and hands the outcome to [`Machine::step`].

use super::{
    CollectionEvent, Config, InitialListStrategy, Result,
    config::Freshness,
    retry::{RetryBackoff, RetryClass},
    state::{InitPage, Page, State},
    versions::Versions,
};
use kube_core::{
    DeserializeGuard, ObjectList, Resource, WatchEvent,
    params::{ListParams, WatchParams},
};
use std::time::Duration;
use tokio::time::Instant;

/// What to ask the server for.
#[derive(Debug, PartialEq)]
pub(super) enum Next {
    /// A LIST; answer with [`Input::Listed`].
    List(ListParams),
    /// A LIST of next to nothing, to see the version of the server's storage; answer with [`Input::Probed`].
    Probe,
    /// A WATCH from a version; answer with [`Input::Started`].
    Watch(WatchParams, String),
    /// The next message of the running watch, waiting at most so long; answer with [`Input::Read`].
    Read { silence: Duration },
}

/// What came back.
pub(super) enum Input<K: Clone> {
    Listed(Result<ObjectList<DeserializeGuard<K>>, kube_client::Error>),
    /// The version; empty where the server does not say.
    Probed(Result<String, kube_client::Error>),
    Started(Result<(), kube_client::Error>),
    Read(Read<K>),
}

/// What a running watch gave.
#[expect(clippy::large_enum_variant, reason = "nearly all are messages, and a box for each costs more")]
pub(super) enum Read<K> {
    Message(WatchEvent<DeserializeGuard<K>>),
    Broken(kube_client::Error),
    Ended,
    /// Nothing for as long as was allowed.
    Silent,
}

/// What follows from an input.
pub(super) struct Step<K> {
    /// To report, in this order.
    pub(super) emit: Vec<Result<CollectionEvent<K>>>,
    /// How long to wait, from the time of the input, before doing what [`Machine::next`] says.
    pub(super) wait: Duration,
}

/// How the next list is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Listing {
    Paged,
    Streamed,
    /// By LIST this time: the last stream had no end.
    PagedOnce,
}

impl Listing {
    /// The state in which nothing is known, or what is known no longer counts.
    fn start(self) -> State {
        match self {
            Self::Streamed => State::InitialWatch,
            Self::Paged | Self::PagedOnce => State::InitPage(InitPage { page: Page::First }),
        }
    }
}

/// A watcher's memory.
pub(super) struct Machine {
    pub(super) config: Config,
    pub(super) retry: RetryBackoff,
    /// Whether an undecodable object that was deleted is followed by a list, for those who cannot be told which it was.
    pub(super) relist_undecodable_deletions: bool,
    pub(super) listing: Listing,
    /// What the next list has to show at least.
    pub(super) freshness: Freshness,
    pub(super) versions: Versions,
    /// How often in a row the server failed to serve a version.
    pub(super) failures: u32,
    /// How many lists were asked for since a watch lived.
    pub(super) relists: u32,
    state: State,
}

/// The state that follows, and how long to wait before acting on it.
pub(super) type Turn = (State, Duration);

impl Machine {
    pub(super) fn new(config: Config, retry: RetryBackoff) -> Self {
        let listing = match config.initial_list_strategy {
            InitialListStrategy::ListWatch => Listing::Paged,
            InitialListStrategy::StreamingList => Listing::Streamed,
        };
        Self {
            state: listing.start(),
            config,
            retry,
            relist_undecodable_deletions: false,
            listing,
            freshness: Freshness::Any,
            versions: Versions::default(),
            failures: 0,
            relists: 0,
        }
    }

    /// The same for those who cannot be told which undecodable object was deleted.
    pub(super) fn relisting_undecodable_deletions(self) -> Self {
        Self { relist_undecodable_deletions: true, ..self }
    }

    /// What to do now. Asking again gives the same answer.
    pub(super) fn next(&self) -> Next {
        match &self.state {
            State::InitPage(list) => Next::List(match &list.page {
                Page::First => self.config.first_page(&self.freshness),
                Page::Next(token) => self.config.next_page(token),
                Page::Whole => self.config.whole_list(),
            }),
            State::InitialWatch => {
                let version = self.config.streaming_version(&self.freshness).to_owned();
                Next::Watch(self.config.streaming_list(), version)
            }
            State::InitialEvents => Next::Read { silence: self.config.streaming_silence() },
            State::Doubtful(_) => Next::Probe,
            State::InitListed(listed) => Next::Watch(self.config.watch(), listed.version.clone()),
            State::Watching(_) => Next::Read { silence: self.config.silence() },
        }
    }

    /// Lists again because of a failed watch. Where no watch has lived since the last time, the waits are the long ones: lists
    /// may be large.
    pub(super) fn start_over(&mut self, class: RetryClass) -> Turn {
        let wait = self.retry.next(if self.relists == 0 { class } else { RetryClass::Persistent });
        self.relists = self.relists.saturating_add(1);
        self.start_over_in(wait)
    }

    /// A watch lived: failures before it no longer count.
    pub(super) fn forget_failures(&mut self) {
        self.retry.reset();
        self.failures = 0;
        self.relists = 0;
    }

    /// Lists again, after this wait.
    pub(super) fn start_over_in(&self, wait: Duration) -> Turn {
        (self.listing.start(), wait)
    }

    /// Takes in what came back. An input that the state did not ask for is dropped.
    pub(super) fn step<K: Resource + Clone>(&mut self, input: Input<K>, now: Instant) -> Step<K> {
        let mut emit = Vec::new();
        let (state, wait) = match (std::mem::replace(&mut self.state, self.listing.start()), input) {
            (State::InitPage(list), Input::Listed(Ok(page))) => self.page_arrived(list, page, &mut emit),
            (State::InitPage(list), Input::Listed(Err(error))) => self.list_failed(list, error, &mut emit),
            (State::InitialWatch, Input::Started(Ok(()))) => {
                emit.push(Ok(CollectionEvent::Init));
                (State::InitialEvents, Duration::ZERO)
            }
            (State::InitialWatch, Input::Started(Err(error))) => {
                self.streaming_list_refused(error, &mut emit)
            }
            (State::InitialEvents, Input::Read(read)) => self.initial_event(read, now, &mut emit),
            (State::InitListed(listed), Input::Started(Ok(()))) => (listed.started(now), Duration::ZERO),
            (State::InitListed(listed), Input::Started(Err(error))) => {
                self.watch_refused(listed, error, &mut emit)
            }
            (State::Doubtful(listed), Input::Probed(answer)) => self.probed(listed, answer, &mut emit),
            (State::Watching(watch), Input::Read(read)) => self.watched(watch, read, now, &mut emit),
            (state, _) => (state, self.retry.next(RetryClass::Transient)),
        };
        self.state = state;
        Step { emit, wait }
    }
}
