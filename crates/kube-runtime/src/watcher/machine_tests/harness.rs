//! The test harness: a machine, a clock, and a list of its output.

use crate::watcher::{
    CollectionEvent, Config, Error, Event,
    machine::{Input, Machine, Next, Read},
    retry::RetryBackoff,
};
use k8s_openapi::api::core::v1::ConfigMap;
use kube_client::client::ListPart;
use kube_core::{DeserializeGuard, ObjectList, Status, WatchEvent, response::StatusDetails};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::Instant;

pub(super) type ClientError = kube_client::Error;

pub(super) struct Harness {
    pub(super) machine: Machine,
    pub(super) now: Instant,
    pub(super) wait: Duration,
    /// The versions of `Synced` and `Progress` events.
    pub(super) collection_versions: Vec<String>,
}

impl Harness {
    pub(super) fn new(config: Config) -> Self {
        Self::with(config, RetryBackoff::without_jitter())
    }

    pub(super) fn with(config: Config, retry: RetryBackoff) -> Self {
        Self {
            machine: Machine::new(config, retry),
            now: Instant::now(),
            wait: Duration::ZERO,
            collection_versions: Vec::new(),
        }
    }

    /// The emitted items as strings, without `Progress`: see `collection_versions`.
    pub(super) fn step(&mut self, input: Input<ConfigMap>) -> Vec<String> {
        let step = self.machine.step(input, self.now);
        self.wait = Duration::from_millis(step.wait.as_millis() as u64); // backon's doubling is inexact
        step.emit
            .into_iter()
            .filter_map(|item| self.format_item(item.map_err(|error| error.into_error())))
            .collect()
    }

    fn format_item(&mut self, item: Result<CollectionEvent<ConfigMap>, Error>) -> Option<String> {
        let event = match item {
            Err(error) => return Some(format_error(&error)),
            Ok(CollectionEvent::Init) => Event::Init,
            Ok(CollectionEvent::InitApply(object)) => Event::InitApply(object),
            Ok(CollectionEvent::Apply(object)) => Event::Apply(object),
            Ok(CollectionEvent::Delete(object)) => Event::Delete(object),
            Ok(CollectionEvent::Synced { resource_version }) => {
                self.collection_versions.push(resource_version);
                return Some("Synced".to_owned());
            }
            Ok(CollectionEvent::Progress { resource_version }) => {
                self.collection_versions.push(resource_version);
                return None;
            }
            Ok(CollectionEvent::Closed) => return Some("Closed".to_owned()),
            Ok(CollectionEvent::Undecodable(object)) if object.deleted => {
                return Some(format!("UndecodableDelete({object})"));
            }
            Ok(CollectionEvent::Undecodable(object)) => return Some(format!("Undecodable({object})")),
        };
        Some(event.to_string())
    }

    /// A whole page.
    pub(super) fn page(&mut self, list: Value) -> Vec<String> {
        let list = decode::<ObjectList<DeserializeGuard<ConfigMap>>>(list);
        let mut emitted = if list.items.is_empty() { Vec::new() } else { self.items(list.items) };
        emitted.extend(self.step(Input::Listed(Ok(ListPart::End(list.metadata)))));
        emitted
    }

    /// Some items of a page.
    pub(super) fn items(&mut self, items: Vec<DeserializeGuard<ConfigMap>>) -> Vec<String> {
        let emitted = self.step(Input::Listed(Ok(ListPart::Items(items))));
        assert_eq!((self.next(), self.wait), (Next::ReadList, Duration::ZERO));
        emitted
    }

    pub(super) fn list_error(&mut self, error: ClientError) -> Vec<String> {
        self.step(Input::Listed(Err(error.into())))
    }

    pub(super) fn watch_started(&mut self) -> Vec<String> {
        self.step(Input::WatchStarted(Ok(())))
    }

    pub(super) fn watch_refused(&mut self, error: ClientError) -> Vec<String> {
        self.step(Input::WatchStarted(Err(error.into())))
    }

    pub(super) fn version_checked(&mut self, result: Result<&str, ClientError>) -> Vec<String> {
        assert_eq!(self.next(), Next::CheckVersion);
        self.step(Input::VersionChecked(result.map(ToOwned::to_owned).map_err(Into::into)))
    }

    pub(super) fn message(&mut self, message: Value) -> Vec<String> {
        self.step(Input::Read(Read::Message(decode::<WatchEvent<DeserializeGuard<ConfigMap>>>(message))))
    }

    pub(super) fn read(&mut self, read: Read<ConfigMap>) -> Vec<String> {
        self.step(Input::Read(read))
    }

    pub(super) fn advance(&mut self, seconds: u64) {
        self.now += Duration::from_secs(seconds);
    }

    pub(super) fn next(&self) -> Next {
        self.machine.next()
    }

    #[track_caller]
    pub(super) fn expect_list(&mut self) -> kube_core::params::ListParams {
        match self.next() {
            Next::List(params) => params,
            other => panic!("expected a list, got {other:?}"),
        }
    }

    /// The version that the next watch starts from.
    #[track_caller]
    pub(super) fn expect_watch(&mut self) -> String {
        match self.next() {
            Next::Watch(params, version) if !params.send_initial_events => version,
            other => panic!("expected a watch, got {other:?}"),
        }
    }

    /// The version that the next watch starts from, after a successful version check.
    #[track_caller]
    pub(super) fn expect_watch_after_version_check(&mut self) -> String {
        assert!(self.version_checked(Ok("1000000")).is_empty());
        self.expect_watch()
    }

    #[track_caller]
    pub(super) fn expect_streaming_list(&mut self) -> String {
        match self.next() {
            Next::Watch(params, version) if params.send_initial_events && params.bookmarks => version,
            other => panic!("expected a streaming list, got {other:?}"),
        }
    }

    #[track_caller]
    pub(super) fn expect_read(&mut self) -> Duration {
        match self.next() {
            Next::Read { idle_timeout } => idle_timeout,
            other => panic!("expected a read, got {other:?}"),
        }
    }
}

pub(super) fn format_error(error: &Error) -> String {
    match std::error::Error::source(error).and_then(|source| source.source().map(ToString::to_string)) {
        Some(detail) => format!("{}: {detail}", variant(error)),
        None => variant(error).to_owned(),
    }
}

pub(super) fn variant(error: &Error) -> &'static str {
    match error {
        Error::InitialListFailed(_) => "InitialListFailed",
        Error::WatchStartFailed(_) => "WatchStartFailed",
        Error::WatchError(_) => "WatchError",
        Error::WatchFailed(_) => "WatchFailed",
        Error::NoResourceVersion => "NoResourceVersion",
    }
}

pub(super) fn decode<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

pub(super) fn object(name: &str, version: &str) -> Value {
    json!({ "metadata": { "name": name, "namespace": "ns", "uid": name, "resourceVersion": version } })
}

pub(super) fn undecodable(name: &str, version: &str) -> Value {
    json!({ "metadata": { "name": name, "namespace": "ns", "resourceVersion": version }, "data": 5 })
}

pub(super) fn list(version: &str, token: &str, items: Vec<Value>) -> Value {
    json!({ "metadata": { "resourceVersion": version, "continue": token }, "items": items })
}

pub(super) fn added(name: &str, version: &str) -> Value {
    json!({ "type": "ADDED", "object": object(name, version) })
}

pub(super) fn bookmark(version: &str, end: bool) -> Value {
    let annotations = if end { json!({ "k8s.io/initial-events-end": "true" }) } else { json!({}) };
    let metadata = json!({ "resourceVersion": version, "annotations": annotations });
    json!({ "type": "BOOKMARK", "object": { "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata } })
}

pub(super) fn status(code: u16, retry_after: u32) -> Status {
    let details: StatusDetails = decode(json!({ "retryAfterSeconds": retry_after }));
    Status::failure("", "").with_code(code).with_details(details)
}

pub(super) fn api_error(code: u16) -> ClientError {
    ClientError::Api(status(code, 0).boxed())
}

pub(super) fn error_event(code: u16, retry_after: u32) -> Read<ConfigMap> {
    Read::Message(WatchEvent::Error(status(code, retry_after).boxed()))
}

pub(super) fn connection_reset() -> ClientError {
    ClientError::ReadEvents(std::io::ErrorKind::ConnectionReset.into())
}

/// A machine that has listed `a` at version 10.
pub(super) fn listed(config: Config) -> Harness {
    let mut harness = Harness::new(config);
    assert_eq!(harness.page(list("10", "", vec![object("a", "7")])), ["Init", "InitApply(ns/a)", "Synced"]);
    harness
}

/// A machine with a running watch from version 10.
pub(super) fn watching() -> Harness {
    let mut harness = listed(Config::default());
    assert_eq!(harness.expect_watch(), "10");
    assert!(harness.watch_started().is_empty());
    harness
}

pub(super) fn streaming() -> Harness {
    let mut harness = Harness::new(Config::default().streaming_lists());
    assert_eq!(harness.expect_streaming_list(), "");
    assert_eq!(harness.watch_started(), ["Init"]);
    harness
}

pub(super) const SHORT_WAIT: Duration = Duration::from_millis(100);
pub(super) const LONG_WAIT: Duration = Duration::from_secs(1);
