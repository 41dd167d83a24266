//! The watcher's state machine. It has no I/O and no clock.
//!
//! [`Machine::next`] returns the request or read that the current state needs. The shell (`stream.rs`) performs it and
//! passes the outcome to [`Machine::step`], which returns what to emit and how long to wait.

use super::{
    CollectionEvent, Config, Error, InitialListStrategy,
    config::Freshness,
    error::{ErasedResult, RequestError},
    health::WatchHealth,
    retry::{RetryBackoff, RetryClass},
    versions::CollectionVersions,
};
use crate::delay::MAX_DELAY;
use kube_client::{client::ListPart, error::ErrorClass};
use kube_core::{
    DeserializeGuard, Resource, WatchEvent,
    params::{ListParams, WatchParams},
};
use std::time::Duration;
use tokio::time::Instant;

/// The request or read that the machine needs next.
#[derive(Debug, PartialEq)]
pub(super) enum Next {
    /// A LIST; its outcome is the first [`Input::Listed`].
    List(ListParams),
    /// The next part of the running LIST; its outcome is [`Input::Listed`].
    ReadList,
    /// A LIST of one object, for the version that the server's storage has reached; its outcome is
    /// [`Input::VersionChecked`].
    CheckVersion,
    /// A WATCH from a version; its outcome is [`Input::WatchStarted`].
    Watch(WatchParams, String),
    /// The next message of the running watch; its outcome is [`Input::Read`].
    Read { idle_timeout: Duration },
}

/// The outcome of what [`Next`] asked for.
#[expect(clippy::large_enum_variant, reason = "nearly all are messages, and a box for each costs more")]
pub(super) enum Input<K> {
    Listed(Result<ListPart<K>, RequestError>),
    /// The version; empty if the server sends none.
    VersionChecked(Result<String, RequestError>),
    WatchStarted(Result<(), RequestError>),
    Read(Read<K>),
    /// Instead of an outcome: the client leads to another cluster now.
    AnotherCluster,
}

impl<K> Input<K> {
    /// Whether a request failed because nothing answers.
    fn is_unreachable(&self) -> bool {
        let error = match self {
            Self::Listed(Err(error)) | Self::VersionChecked(Err(error)) | Self::WatchStarted(Err(error)) => {
                error
            }
            _ => return false,
        };
        ErrorClass::of(error.get()) == ErrorClass::Unreachable
    }
}

/// What reading from a running watch returned.
#[expect(clippy::large_enum_variant, reason = "nearly all are messages, and a box for each costs more")]
pub(super) enum Read<K> {
    Message(WatchEvent<DeserializeGuard<K>>),
    Failed(RequestError),
    Closed,
    IdleTimeout,
}

/// The items that a step emits, in this order.
pub(super) type Emit<K> = Vec<ErasedResult<CollectionEvent<K>>>;

/// The result of [`Machine::step`].
pub(super) struct Step<K> {
    pub(super) emit: Emit<K>,
    /// How long to wait, from the time of the input, before doing what [`Machine::next`] returns.
    pub(super) wait: Duration,
    pub(super) health: WatchHealth,
}

/// How the next list is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ListMethod {
    Paged,
    Streamed,
    /// Paged this time only: the last streaming list did not complete.
    PagedOnce,
}

/// Who has chosen how lists are made, which decides what a server that refuses a streaming list means.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum ListChoice {
    /// The program: a refusal is an error in the stream.
    #[default]
    Configured,
    /// Lists are streamed where the server can do that, whatever the configuration says: a refusal is no error.
    StreamedIfSupported,
}

/// Whether the server supports streaming lists of the kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum StreamingSupport {
    /// As far as it is known.
    #[default]
    Assumed,
    /// It has refused one. So it may be what the watch asks for that it does not like, until it has sent a paged list.
    Refused,
    /// It has sent a paged list since.
    Disproved,
}

impl ListMethod {
    /// Before anything is known of the server.
    fn first(config: &Config, choice: ListChoice) -> Self {
        match (choice, &config.initial_list_strategy) {
            (ListChoice::Configured, InitialListStrategy::ListWatch) => Self::Paged,
            (ListChoice::StreamedIfSupported, _) | (_, InitialListStrategy::StreamingList) => Self::Streamed,
        }
    }

    /// The state in which a list starts.
    fn start(self) -> State {
        match self {
            Self::Streamed => State::InitialWatch,
            Self::Paged | Self::PagedOnce => State::InitPage(InitPage::request(Page::First)),
        }
    }
}

#[derive(Debug)]
pub(super) enum State {
    InitPage(InitPage),
    /// A streaming list was requested.
    InitialWatch,
    /// A streaming list is running.
    InitialEvents,
    /// A watch was requested.
    InitListed(InitListed),
    /// A watch ended. Before the next one, the server's version is compared with the version that was reached.
    VerifyingVersion(InitListed),
    Watching(Watching),
}

/// A page of a list was requested.
#[derive(Debug)]
pub(super) struct InitPage {
    pub(super) page: Page,
    /// `None` until a part of it was received.
    pub(super) received: Option<ReceivedItems>,
}

/// The items of a page so far.
#[derive(Debug, Default)]
pub(super) struct ReceivedItems {
    /// The highest of their versions that are numbers.
    pub(super) highest_version: Option<u128>,
}

impl InitPage {
    pub(super) fn request(page: Page) -> Self {
        Self { page, received: None }
    }
}

#[derive(Debug)]
pub(super) enum Page {
    First,
    /// The page of this continue token.
    Next(String),
    /// The whole list in one response, because a continue token expired.
    Whole,
}

/// Everything up to this version is known.
#[derive(Debug)]
pub(super) struct InitListed {
    pub(super) version: String,
}

impl InitListed {
    pub(super) fn watch_started(self, now: Instant) -> State {
        State::Watching(Watching {
            version: self.version,
            since: now,
            progressed: false,
            received_any: false,
        })
    }
}

/// A watch is running.
#[derive(Debug)]
pub(super) struct Watching {
    pub(super) version: String,
    pub(super) since: Instant,
    /// Whether it sent a change.
    pub(super) progressed: bool,
    /// Whether it sent anything. If so, the server's storage is not older than `version`.
    pub(super) received_any: bool,
}

impl Watching {
    /// Advances to `version`, which may be empty.
    pub(super) fn advance(&mut self, version: &str) {
        if !version.is_empty() && version != self.version {
            version.clone_into(&mut self.version);
        }
    }
}

pub(super) struct Machine {
    pub(super) config: Config,
    pub(super) retry: RetryBackoff,
    /// Whether the deletion of an undecodable object starts a relist. [`Event`](super::Event) needs it: it has no variant for such
    /// a deletion.
    pub(super) relist_undecodable_deletions: bool,
    pub(super) list_method: ListMethod,
    /// The oldest state that the next list may show.
    pub(super) freshness: Freshness,
    pub(super) versions: CollectionVersions,
    /// How often in a row the server failed to serve a version.
    pub(super) failures: u32,
    /// How many relists there were since the last healthy watch.
    pub(super) relists: u32,
    list_choice: ListChoice,
    /// Whether the last streaming list was given up because it was silent.
    pub(super) was_silent: bool,
    /// Whether the last streaming list was cut.
    pub(super) was_cut: bool,
    streaming_support: StreamingSupport,
    /// Whether a healthy watch has ended in this step.
    was_healthy: bool,
    state: State,
}

/// The next state, and how long to wait before acting on it.
pub(super) type Transition = (State, Duration);

impl Machine {
    pub(super) fn new(config: Config, retry: RetryBackoff) -> Self {
        let list_choice = ListChoice::default();
        let list_method = ListMethod::first(&config, list_choice);
        Self {
            state: list_method.start(),
            config,
            retry,
            relist_undecodable_deletions: false,
            list_method,
            freshness: Freshness::Any,
            versions: CollectionVersions::default(),
            failures: 0,
            relists: 0,
            list_choice,
            was_silent: false,
            was_cut: false,
            streaming_support: StreamingSupport::default(),
            was_healthy: false,
        }
    }

    /// The same machine, before its first step, with lists as `choice` says.
    pub(super) fn listing(self, choice: ListChoice) -> Self {
        let list_method = ListMethod::first(&self.config, choice);
        Self { list_choice: choice, state: list_method.start(), list_method, ..self }
    }

    /// The same machine, before its first step, for a server of which it is known whether it supports streaming lists of this kind.
    pub(super) fn on_server(self, supports_streaming: bool) -> Self {
        if supports_streaming || !self.streams_if_supported() {
            return self;
        }
        let list_method = ListMethod::Paged;
        Self { state: list_method.start(), list_method, ..self }
    }

    /// Whether a server that refuses a streaming list is no error.
    pub(super) fn streams_if_supported(&self) -> bool {
        self.list_choice == ListChoice::StreamedIfSupported
    }

    /// The server does not support streaming lists of this kind: lists are paged from now on, the first one at once.
    pub(super) fn give_up_streaming(&mut self) -> Transition {
        self.streaming_support = StreamingSupport::Refused;
        self.list_method = ListMethod::Paged;
        self.relist_after(Duration::ZERO)
    }

    /// A list of this method is complete.
    pub(super) fn list_succeeded(&mut self) {
        if self.streaming_support == StreamingSupport::Refused {
            self.streaming_support = StreamingSupport::Disproved;
        }
        if self.list_method == ListMethod::PagedOnce {
            self.list_method = ListMethod::Streamed;
        }
    }

    /// Whether the last step has proved that the server does not support streaming lists of this kind.
    pub(super) fn take_streaming_unsupported(&mut self) -> bool {
        let is_disproved = self.streaming_support == StreamingSupport::Disproved;
        if is_disproved {
            self.streaming_support = StreamingSupport::Assumed; // it is told once, and the method stays
        }
        is_disproved
    }

    /// The same machine with a relist after each deletion of an undecodable object.
    pub(super) fn relisting_undecodable_deletions(self) -> Self {
        Self { relist_undecodable_deletions: true, ..self }
    }

    /// What to do now. Idempotent.
    pub(super) fn next(&self) -> Next {
        match &self.state {
            State::InitPage(InitPage { received: Some(_), .. }) => Next::ReadList,
            State::InitPage(list) => Next::List(match &list.page {
                Page::First => self.config.first_page(&self.freshness),
                Page::Next(token) => self.config.next_page(token),
                Page::Whole => self.config.whole_list(),
            }),
            State::InitialWatch => {
                let version = self.config.streaming_version(&self.freshness).to_owned();
                Next::Watch(self.config.streaming_list(), version)
            }
            State::InitialEvents => Next::Read { idle_timeout: self.config.streaming_idle_timeout() },
            State::VerifyingVersion(_) => Next::CheckVersion,
            State::InitListed(listed) => Next::Watch(self.config.watch(), listed.version.clone()),
            State::Watching(_) => Next::Read { idle_timeout: self.config.idle_timeout() },
        }
    }

    /// Relists after a failed watch. Without a healthy watch since the last relist the wait is of the persistent class,
    /// because lists may be large: a server that breaks down whenever all its clients list has to be spared.
    pub(super) fn relist(&mut self, class: RetryClass) -> Transition {
        let wait = self.retry.next(if self.relists == 0 { class } else { RetryClass::Persistent });
        self.relists = self.relists.saturating_add(1);
        self.relist_after(wait)
    }

    /// Relists after a watch that had worked. Many clients may do so at this instant, so it waits for a random part of the configured
    /// spread.
    pub(super) fn relist_of_many(&mut self, class: RetryClass) -> Transition {
        let (state, wait) = self.relist(class);
        let spread = self.config.relist_spread.unwrap_or_default().min(MAX_DELAY);
        (state, wait.saturating_add(spread.mul_f64(fastrand::f64())))
    }

    pub(super) fn relist_after(&self, wait: Duration) -> Transition {
        (self.list_method.start(), wait)
    }

    /// Lists as at the start: nothing that is known of the old cluster holds.
    fn another_cluster<K>(&mut self, emit: &mut Emit<K>) -> Transition {
        emit.push(Err(Error::another_cluster().into()));
        self.versions = CollectionVersions::of_another_cluster();
        self.freshness = Freshness::Any;
        self.list_method = ListMethod::first(&self.config, self.list_choice);
        (self.was_silent, self.was_cut) = (false, false);
        self.streaming_support = StreamingSupport::Assumed;
        (self.failures, self.relists) = (0, 0); // the waits go on: no watch has worked
        self.relist_after(Duration::ZERO)
    }

    /// Resets the backoff and the counters, after a healthy watch.
    pub(super) fn reset_failures(&mut self) {
        self.retry.reset();
        self.was_healthy = true;
        self.failures = 0;
        self.relists = 0;
    }

    /// Whether the next list has to decode every object, because the storage went back and may use known versions again.
    pub(super) fn history_lost(&self) -> bool {
        self.versions.history_lost()
    }

    /// Processes the outcome of [`next`](Self::next). An input that does not fit the state is dropped.
    pub(super) fn step<K: Resource>(&mut self, input: Input<K>, now: Instant) -> Step<K> {
        let mut emit = Vec::new();
        let unreachable = input.is_unreachable();
        let listing = matches!(self.state, State::InitPage(_) | State::InitialWatch | State::InitialEvents);
        let only_listed = listing && self.retry.is_failing();
        let (state, wait) = match (std::mem::replace(&mut self.state, self.list_method.start()), input) {
            (State::InitPage(list), Input::Listed(Ok(ListPart::Items(items)))) => {
                Self::items_received(list, items, &mut emit)
            }
            (State::InitPage(list), Input::Listed(Ok(ListPart::End(metadata)))) => {
                self.page_received(list, metadata, &mut emit)
            }
            (State::InitPage(list), Input::Listed(Err(error))) => self.list_failed(list, error, &mut emit),
            (State::InitialWatch, Input::WatchStarted(Ok(()))) => {
                emit.push(Ok(CollectionEvent::Init));
                (State::InitialEvents, Duration::ZERO)
            }
            (State::InitialWatch, Input::WatchStarted(Err(error))) => {
                self.streaming_list_refused(error, &mut emit)
            }
            (State::InitialEvents, Input::Read(read)) => self.initial_event(read, now, &mut emit),
            (State::InitListed(listed), Input::WatchStarted(Ok(()))) => {
                (listed.watch_started(now), Duration::ZERO)
            }
            (State::InitListed(listed), Input::WatchStarted(Err(error))) => {
                self.watch_refused(listed, error, &mut emit)
            }
            (State::VerifyingVersion(listed), Input::VersionChecked(result)) => {
                self.version_checked(listed, result, &mut emit)
            }
            (State::Watching(watch), Input::Read(read)) => self.watch_read(watch, read, now, &mut emit),
            (_, Input::AnotherCluster) => self.another_cluster(&mut emit),
            (state, _) => (state, self.retry.next(RetryClass::Transient)),
        };
        self.state = state;
        if unreachable && !self.retry.reports_unreachable(now) {
            emit.clear();
        }
        let health = WatchHealth { proven: std::mem::take(&mut self.was_healthy), only_listed };
        Step { emit, wait, health }
    }
}
