//! Every transition of the machine, without I/O.

use super::{
    Error, ListSemantic,
    machine::{Input, Machine, Next, Read},
    pace::Pace,
    *,
};
use k8s_openapi::api::core::v1::ConfigMap;
use kube_core::{
    DeserializeGuard, ObjectList, Status, WatchEvent, params::VersionMatch, response::StatusDetails,
};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::Instant;

type ClientError = kube_client::Error;

/// A machine, a clock, and a record of what it reported.
struct Bench {
    machine: Machine,
    now: Instant,
    wait: Duration,
}

impl Bench {
    fn new(config: Config) -> Self {
        Self { machine: Machine::new(config, Pace::steady()), now: Instant::now(), wait: Duration::ZERO }
    }

    fn give(&mut self, input: Input<ConfigMap>) -> Vec<String> {
        self.machine.next();
        let step = self.machine.step(input, self.now);
        self.wait = Duration::from_millis(step.wait.as_millis() as u64); // doubling is a little inexact
        step.emit.iter().map(|item| item.as_ref().map_or_else(report, ToString::to_string)).collect()
    }

    fn page(&mut self, list: Value) -> Vec<String> {
        self.give(Input::Listed(Ok(decode::<ObjectList<DeserializeGuard<ConfigMap>>>(list))))
    }

    fn list_error(&mut self, error: ClientError) -> Vec<String> {
        self.give(Input::Listed(Err(error)))
    }

    fn started(&mut self) -> Vec<String> {
        self.give(Input::Started(Ok(())))
    }

    fn refused(&mut self, error: ClientError) -> Vec<String> {
        self.give(Input::Started(Err(error)))
    }

    fn message(&mut self, message: Value) -> Vec<String> {
        self.give(Input::Read(Read::Message(decode::<WatchEvent<DeserializeGuard<ConfigMap>>>(message))))
    }

    fn read(&mut self, read: Read<ConfigMap>) -> Vec<String> {
        self.give(Input::Read(read))
    }

    fn pass(&mut self, seconds: u64) {
        self.now += Duration::from_secs(seconds);
    }

    fn next(&mut self) -> Next {
        self.machine.next()
    }

    #[track_caller]
    fn expect_list(&mut self) -> kube_core::params::ListParams {
        match self.next() {
            Next::List(params) => params,
            other => panic!("expected a list, got {other:?}"),
        }
    }

    /// The version that the next watch starts from.
    #[track_caller]
    fn expect_watch(&mut self) -> String {
        match self.next() {
            Next::Watch(params, version) if !params.send_initial_events => version,
            other => panic!("expected a watch, got {other:?}"),
        }
    }

    #[track_caller]
    fn expect_streaming_list(&mut self) -> String {
        match self.next() {
            Next::Watch(params, version) if params.send_initial_events && params.bookmarks => version,
            other => panic!("expected a streaming list, got {other:?}"),
        }
    }

    #[track_caller]
    fn expect_read(&mut self) -> Duration {
        match self.next() {
            Next::Read { silence } => silence,
            other => panic!("expected a read, got {other:?}"),
        }
    }
}

fn report(error: &Error) -> String {
    match std::error::Error::source(error).and_then(|source| source.source().map(ToString::to_string)) {
        Some(detail) => format!("{}: {detail}", variant(error)),
        None => variant(error).to_owned(),
    }
}

fn variant(error: &Error) -> &'static str {
    match error {
        Error::InitialListFailed(_) => "InitialListFailed",
        Error::WatchStartFailed(_) => "WatchStartFailed",
        Error::WatchError(_) => "WatchError",
        Error::WatchFailed(_) => "WatchFailed",
        Error::NoResourceVersion => "NoResourceVersion",
    }
}

fn decode<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

fn object(name: &str, version: &str) -> Value {
    json!({ "metadata": { "name": name, "namespace": "ns", "uid": name, "resourceVersion": version } })
}

fn spoiled(name: &str, version: &str) -> Value {
    json!({ "metadata": { "name": name, "namespace": "ns", "resourceVersion": version }, "data": 5 })
}

fn list(version: &str, token: &str, items: Vec<Value>) -> Value {
    json!({ "metadata": { "resourceVersion": version, "continue": token }, "items": items })
}

fn added(name: &str, version: &str) -> Value {
    json!({ "type": "ADDED", "object": object(name, version) })
}

fn bookmark(version: &str, end: bool) -> Value {
    let annotations = if end { json!({ "k8s.io/initial-events-end": "true" }) } else { json!({}) };
    let metadata = json!({ "resourceVersion": version, "annotations": annotations });
    json!({ "type": "BOOKMARK", "object": { "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata } })
}

fn status(code: u16, retry_after: u32) -> Status {
    let details: StatusDetails = decode(json!({ "retryAfterSeconds": retry_after }));
    Status::failure("", "").with_code(code).with_details(details)
}

fn api_error(code: u16) -> ClientError {
    ClientError::Api(status(code, 0).boxed())
}

fn error_event(code: u16, retry_after: u32) -> Read<ConfigMap> {
    Read::Message(WatchEvent::Error(status(code, retry_after).boxed()))
}

fn broken() -> ClientError {
    ClientError::ReadEvents(std::io::ErrorKind::ConnectionReset.into())
}

/// A machine that has listed `a` at version 10.
fn listed(config: Config) -> Bench {
    let mut bench = Bench::new(config);
    assert_eq!(bench.page(list("10", "", vec![object("a", "7")])), ["Init", "InitApply(ns/a)", "InitDone"]);
    bench
}

/// A machine whose watch from version 10 runs.
fn watching() -> Bench {
    let mut bench = listed(Config::default());
    assert_eq!(bench.expect_watch(), "10");
    assert!(bench.started().is_empty());
    bench
}

fn streaming() -> Bench {
    let mut bench = Bench::new(Config::default().streaming_lists());
    assert_eq!(bench.expect_streaming_list(), "");
    assert_eq!(bench.started(), ["Init"]);
    bench
}

const OWN: Duration = Duration::from_millis(100);
const LONG: Duration = Duration::from_secs(1);

// --- paged lists

#[test]
fn lists_page_by_page_then_watches_from_the_last_version() {
    let mut bench = Bench::new(Config::default().labels("app=web"));
    let first = bench.expect_list();
    assert_eq!((first.limit, first.continue_token, first.resource_version), (Some(500), None, None));
    assert_eq!(first.label_selector.as_deref(), Some("app=web"));
    assert_eq!(bench.page(list("10", "more", vec![object("a", "1")])), ["Init", "InitApply(ns/a)"]);
    let second = bench.expect_list();
    assert_eq!((second.continue_token.as_deref(), second.resource_version), (Some("more"), None));
    assert_eq!(second.label_selector.as_deref(), Some("app=web"));
    assert_eq!(bench.page(list("10", "", vec![object("b", "2")])), ["InitApply(ns/b)", "InitDone"]);
    assert_eq!(bench.expect_watch(), "10");
    assert_eq!(bench.wait, Duration::ZERO);
}

#[test]
fn a_page_that_fails_is_asked_for_again() {
    let mut bench = Bench::new(Config::default());
    bench.page(list("10", "more", vec![]));
    assert_eq!(bench.list_error(broken()).len(), 1);
    assert_eq!(bench.wait, OWN);
    assert_eq!(bench.expect_list().continue_token.as_deref(), Some("more"));
    bench.list_error(api_error(500));
    assert_eq!(bench.wait, 2 * OWN, "waits grow");
}

#[test]
fn an_expired_continue_token_leads_to_one_whole_list() {
    let mut bench = Bench::new(Config::default());
    bench.page(list("10", "more", vec![object("a", "1")]));
    assert!(bench.list_error(api_error(410)).is_empty(), "nothing is lost, so nothing is reported");
    let whole = bench.expect_list();
    assert_eq!((whole.limit, whole.continue_token, whole.resource_version), (None, None, None));
    assert_eq!(bench.page(list("20", "", vec![object("b", "2")])), ["Init", "InitApply(ns/b)", "InitDone"]);
    assert_eq!(bench.expect_watch(), "20");
}

#[test]
fn a_list_answered_by_busy_waits_as_asked() {
    let mut bench = Bench::new(Config::default());
    assert_eq!(bench.list_error(ClientError::Api(status(429, 7).boxed())).len(), 1);
    assert_eq!(bench.wait, Duration::from_secs(7));
    bench.expect_list();
}

#[test]
fn what_only_people_can_change_is_tried_less_often() {
    for code in [401, 403, 404, 400] {
        let mut bench = Bench::new(Config::default());
        assert_eq!(bench.list_error(api_error(code)).len(), 1, "{code}");
        assert_eq!(bench.wait, LONG, "{code}");
        bench.expect_list();
    }
}

#[test]
fn a_list_without_a_version_cannot_be_watched() {
    let mut bench = Bench::new(Config::default());
    assert_eq!(bench.page(json!({ "metadata": {}, "items": [] })), ["Init", "NoResourceVersion"]);
    assert_eq!(bench.wait, LONG);
    bench.expect_list();
}

#[test]
fn undecodable_objects_of_a_list_are_named_once_and_the_rest_flows() {
    let mut bench = Bench::new(Config::default());
    assert_eq!(
        bench.page(list("10", "more", vec![spoiled("bad", "1"), object("a", "2")])),
        ["Init", "InitApply(ns/a)"]
    );
    let end = bench.page(list("10", "", vec![spoiled("worse", "3")]));
    assert_eq!(end[0], "InitDone");
    assert!(end[1].starts_with("InitialListFailed: skipped 2 objects"), "{end:?}");
    assert!(end[1].contains("ns/bad") && end[1].contains("ns/worse"), "{end:?}");
    assert_eq!(bench.expect_watch(), "10");
}

#[test]
fn a_list_that_may_be_old_is_never_older_than_what_was_seen() {
    let mut bench = Bench::new(Config::default().any_semantic());
    assert_eq!(bench.expect_list().resource_version.as_deref(), Some("0"));
    bench.page(list("10", "", vec![]));
    bench.started();
    bench.message(added("a", "15"));
    bench.read(error_event(410, 0));
    let relist = bench.expect_list();
    assert_eq!(relist.resource_version.as_deref(), Some("15"));
    assert_eq!(relist.version_match, Some(VersionMatch::NotOlderThan));
    bench.list_error(api_error(410));
    assert_eq!(bench.expect_list().resource_version.as_deref(), Some("0"), "unless the server cannot");
    assert_eq!(bench.machine.config.list_semantic, ListSemantic::Any);
}

// --- starting a watch

#[test]
fn a_watch_refused_as_expired_leads_to_a_list() {
    let mut bench = listed(Config::default());
    assert_eq!(bench.refused(api_error(410)).len(), 1);
    assert_eq!(bench.wait, OWN);
    bench.expect_list();
}

#[test]
fn a_watch_answered_by_busy_resumes_from_the_same_version() {
    for code in [429, 503] {
        let mut bench = listed(Config::default());
        assert_eq!(bench.refused(ClientError::Api(status(code, 3).boxed())).len(), 1);
        assert_eq!(bench.wait, Duration::from_secs(3));
        assert_eq!(bench.expect_watch(), "10");
    }
    let mut bench = listed(Config::default());
    bench.refused(ClientError::Api(Status::failure("storage is (re)initializing", "").boxed()));
    assert_eq!((bench.wait, bench.expect_watch().as_str()), (OWN, "10"));
}

#[test]
fn a_forbidden_watch_does_not_list_again() {
    let mut bench = listed(Config::default());
    bench.refused(api_error(403));
    assert_eq!((bench.wait, bench.expect_watch().as_str()), (LONG, "10"));
}

#[test]
fn a_kind_that_is_gone_is_listed_when_it_is_back() {
    let mut bench = listed(Config::default());
    bench.refused(api_error(404));
    assert_eq!(bench.wait, LONG);
    bench.expect_list();
}

#[test]
fn a_version_the_server_fails_to_serve_is_given_up_in_the_end() {
    let mut bench = listed(Config::default());
    for _ in 0..2 {
        bench.refused(api_error(500));
        assert_eq!(bench.expect_watch(), "10");
    }
    bench.refused(api_error(500));
    bench.expect_list();
}

// --- watching

#[test]
fn events_become_events() {
    let mut bench = watching();
    assert_eq!(bench.message(added("b", "11")), ["Apply(ns/b)"]);
    assert_eq!(bench.message(json!({ "type": "MODIFIED", "object": object("b", "12") })), ["Apply(ns/b)"]);
    assert_eq!(bench.message(json!({ "type": "DELETED", "object": object("b", "13") })), ["Delete(ns/b)"]);
    assert!(bench.message(bookmark("20", false)).is_empty());
    bench.read(Read::Broken(broken()));
    assert_eq!(bench.expect_watch(), "20", "bookmarks count");
}

#[test]
fn a_watch_that_ends_by_itself_is_resumed_at_once() {
    let mut bench = watching();
    bench.pass(295);
    assert!(bench.read(Read::Ended).is_empty());
    assert_eq!((bench.wait, bench.expect_watch().as_str()), (Duration::ZERO, "10"));
}

#[test]
fn a_watch_closed_at_once_is_a_failure_and_waits_grow() {
    let mut bench = watching();
    let mut waits = Vec::new();
    for _ in 0..8 {
        assert_eq!(bench.read(Read::Ended), ["WatchFailed: the server closed the watch at once"]);
        waits.push(bench.wait.as_millis());
        assert_eq!(bench.expect_watch(), "10");
        bench.started();
    }
    assert_eq!(waits, [100, 200, 400, 800, 1600, 3200, 5000, 5000]);
    bench.message(added("b", "11"));
    assert!(bench.read(Read::Ended).is_empty(), "news make it a good watch");
    bench.started();
    bench.read(Read::Ended);
    assert_eq!(bench.wait, OWN, "and past failures are forgotten");
}

#[test]
fn bookmarks_alone_do_not_make_a_good_watch() {
    let mut bench = watching();
    bench.message(bookmark("20", false));
    assert_eq!(bench.read(Read::Ended).len(), 1);
    assert_eq!(bench.wait, OWN);
}

#[test]
fn a_silent_watch_is_given_up() {
    let mut bench = watching();
    assert_eq!(bench.expect_read(), Duration::from_secs(305));
    bench.pass(305);
    assert_eq!(bench.read(Read::Silent).len(), 1);
    assert_eq!((bench.wait, bench.expect_watch().as_str()), (OWN, "10"));
    let mut bench = listed(Config::default().timeout(20));
    bench.started();
    assert_eq!(bench.expect_read(), Duration::from_secs(30), "10 s more than the server was asked for");
}

#[test]
fn a_broken_watch_resumes_from_the_last_version() {
    let mut bench = watching();
    bench.message(added("b", "11"));
    assert_eq!(bench.read(Read::Broken(broken())).len(), 1);
    assert_eq!((bench.wait, bench.expect_watch().as_str()), (OWN, "11"));
}

#[test]
fn an_expired_version_within_a_watch_leads_to_a_list() {
    let mut bench = watching();
    assert_eq!(bench.read(error_event(410, 0)).len(), 1);
    assert_eq!(bench.wait, OWN);
    bench.expect_list();
}

#[test]
fn a_busy_server_within_a_watch_resumes_from_the_same_version() {
    for code in [429, 503] {
        let mut bench = watching();
        assert_eq!(bench.read(error_event(code, 4)).len(), 1);
        assert_eq!((bench.wait, bench.expect_watch().as_str()), (Duration::from_secs(4), "10"));
    }
}

#[test]
fn versions_that_go_back_lead_to_a_list() {
    for message in [added("b", "9"), bookmark("9", false)] {
        let mut bench = watching();
        let reported = bench.message(message);
        assert_eq!(reported.len(), 1, "the object of the past is not delivered: {reported:?}");
        assert!(reported[0].starts_with("WatchError"), "{reported:?}");
        bench.expect_list();
    }
}

#[test]
fn a_server_that_is_behind_our_version_leads_to_a_list() {
    let details = json!({ "causes": [{ "reason": "ResourceVersionTooLarge", "message": "Too large resource version" }] });
    let behind = Status::failure("", "Timeout").with_code(504).with_details(decode(details));
    let mut bench = listed(Config::default().any_semantic());
    bench.refused(ClientError::Api(behind.boxed()));
    assert_eq!(bench.expect_list().resource_version.as_deref(), Some("0"));
}

#[test]
fn a_deletion_with_its_objects_old_version_is_a_deletion() {
    let mut bench = watching();
    bench.message(added("b", "12"));
    assert_eq!(bench.message(json!({ "type": "DELETED", "object": object("a", "7") })), ["Delete(ns/a)"]);
    bench.read(Read::Broken(broken()));
    assert_eq!(bench.expect_watch(), "12");
}

#[test]
fn an_undecodable_object_is_named_and_the_watch_goes_on() {
    let mut bench = watching();
    let reported = bench.message(json!({ "type": "MODIFIED", "object": spoiled("bad", "11") }));
    assert!(
        reported[0].starts_with("WatchFailed: skipped an object that cannot be decoded: ns/bad"),
        "{reported:?}"
    );
    assert_eq!(bench.wait, Duration::ZERO);
    bench.expect_read();
    assert_eq!(bench.message(added("b", "12")), ["Apply(ns/b)"]);
}

#[test]
fn an_undecodable_deletion_leads_to_a_list() {
    let mut bench = watching();
    assert_eq!(bench.message(json!({ "type": "DELETED", "object": spoiled("bad", "11") })).len(), 1);
    bench.expect_list();
}

#[test]
fn an_unreadable_line_is_skipped() {
    let mut bench = watching();
    let unreadable = ClientError::SerdeError(serde_json::from_str::<Value>("{").unwrap_err());
    assert_eq!(bench.read(Read::Broken(unreadable)).len(), 1);
    bench.expect_read();
}

// --- streaming lists

#[test]
fn a_streaming_list_goes_over_into_its_watch() {
    let mut bench = streaming();
    assert_eq!(bench.expect_read(), Duration::from_secs(30));
    assert_eq!(bench.message(added("a", "5")), ["InitApply(ns/a)"]);
    assert!(bench.message(bookmark("6", false)).is_empty(), "not every bookmark is the end");
    assert_eq!(bench.message(bookmark("8", true)), ["InitDone"]);
    assert_eq!(bench.expect_read(), Duration::from_secs(305));
    assert_eq!(bench.message(added("b", "9")), ["Apply(ns/b)"]);
    bench.read(Read::Broken(broken()));
    assert_eq!(bench.expect_watch(), "9");
}

#[test]
fn a_streaming_list_may_be_old_if_that_is_good_enough() {
    let mut bench = Bench::new(Config::default().streaming_lists().any_semantic());
    assert_eq!(bench.expect_streaming_list(), "0");
}

#[test]
fn a_server_that_refuses_streaming_lists_is_listed_for_good() {
    for code in [422, 400] {
        let mut bench = Bench::new(Config::default().streaming_lists());
        bench.expect_streaming_list();
        assert_eq!(bench.refused(api_error(code)).len(), 1, "surfaced");
        bench.expect_list();
        bench.page(list("10", "", vec![]));
        bench.started();
        bench.read(error_event(410, 0));
        bench.expect_list();
    }
}

#[test]
fn a_streaming_list_without_an_end_falls_back_to_a_list_this_time() {
    for read in [Read::Silent, Read::Ended] {
        let mut bench = streaming();
        bench.message(added("a", "5"));
        assert_eq!(bench.read(read).len(), 1, "surfaced");
        bench.expect_list();
        bench.page(list("10", "", vec![]));
        bench.started();
        bench.read(error_event(410, 0));
        bench.expect_streaming_list();
    }
}

#[test]
fn a_streaming_list_that_breaks_starts_over() {
    let mut bench = streaming();
    bench.message(added("a", "5"));
    assert_eq!(bench.read(Read::Broken(broken())).len(), 1);
    assert_eq!(bench.wait, OWN);
    bench.expect_streaming_list();
    assert_eq!(bench.started(), ["Init"]);
}

#[test]
fn a_busy_server_is_asked_to_stream_again() {
    let mut bench = Bench::new(Config::default().streaming_lists());
    bench.expect_streaming_list();
    bench.refused(ClientError::Api(status(429, 2).boxed()));
    assert_eq!(bench.wait, Duration::from_secs(2));
    bench.expect_streaming_list();
    bench.started();
    bench.read(error_event(503, 5));
    assert_eq!(bench.wait, Duration::from_secs(5));
    bench.expect_streaming_list();
}

#[test]
fn changes_within_a_streaming_list_belong_to_it() {
    let mut bench = streaming();
    assert_eq!(bench.message(json!({ "type": "MODIFIED", "object": object("a", "6") })), ["InitApply(ns/a)"]);
    assert_eq!(bench.message(json!({ "type": "DELETED", "object": object("a", "7") })), ["Delete(ns/a)"]);
    assert!(bench.message(json!({ "type": "ADDED", "object": spoiled("bad", "7") })).is_empty());
    let end = bench.message(bookmark("8", true));
    assert!(end[0] == "InitDone" && end[1].contains("ns/bad"), "{end:?}");
}

// --- always

#[test]
fn an_answer_nobody_asked_for_changes_nothing() {
    let mut bench = watching();
    assert!(bench.page(list("99", "", vec![object("x", "99")])).is_empty());
    bench.expect_read();
}

#[test]
fn asking_twice_gives_the_same_answer() {
    let mut bench = Bench::new(Config::default());
    assert_eq!(bench.next(), bench.machine.next());
}
