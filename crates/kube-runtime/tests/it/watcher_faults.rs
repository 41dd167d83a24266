//! A watcher against scripted servers with faults, under paused time.

use crate::{common::expect_next, scripted_server::*};
use futures::StreamExt;
use http::{Request, StatusCode};
use k8s_openapi::api::core::v1::ConfigMap;
use kube_client::{
    Api, Client,
    client::{Body, middleware::DeadlineLayer},
};
use kube_runtime::{Controller, WatchStreamExt, controller::Action, watcher::Config};
use serde_json::json;
use std::{convert::Infallible, pin::pin, sync::Arc, time::Duration};
use tokio::time::timeout;
use tower::{Layer, service_fn};

#[tokio::test(start_paused = true)]
async fn a_server_that_closes_every_watch_at_once_receives_few_requests() {
    let (client, log) = scripted_watches(|_, _| watch_response(&[], end_of_stream()));
    let items = items_within(600, events(client, Config::default())).await;
    // Each watch except the first is preceded by a version check, a list of one object.
    let requests = log.watches().len();
    assert!(
        (60..200).contains(&requests),
        "{requests} requests in ten minutes, without a backoff behind the watcher"
    );
    let closures = items.iter().filter(|item| item.contains("closed the watch at once")).count();
    assert!(closures + 3 >= requests - 1, "each closed watch is an error: {closures} of {requests}");
}

#[tokio::test(start_paused = true)]
async fn an_idle_watch_is_given_up_and_resumed() {
    let (client, log) = scripted_watches(|_, _| watch_response(&[], idle()));
    let items = items_within(320, events(client, Config::default())).await;
    assert!(items.last().unwrap().contains("silent"), "{items:?}");
    let watches: Vec<u64> = log.watches().iter().map(|request| request.at).collect();
    assert_eq!(watches, [0, 305]);
}

#[tokio::test(start_paused = true)]
async fn an_incomplete_streaming_list_falls_back_to_a_paged_list() {
    let (client, log) = scripted_watches(|_, query| {
        let streaming = query.contains("sendInitialEvents=true");
        let added = event("ADDED", object("a", "7"));
        if streaming { watch_response(&[added], idle()) } else { watch_response(&[], idle()) }
    });
    let items = items_within(60, events(client, Config::default().streaming_lists())).await;
    assert_eq!(items[..2], ["Init", "InitApply(a)"]);
    assert!(items[2].contains("did not finish the streaming list"), "{items:?}");
    assert_eq!(items[3..], ["Init", "InitApply(a)", "InitDone"]);
    let kinds: Vec<_> = log.all().iter().map(RecordedRequest::is_watch).collect();
    assert_eq!(kinds, [true, false, true]);
}

#[tokio::test(start_paused = true)]
async fn a_throttled_watch_is_retried_after_retry_after() {
    let (client, log) = scripted_watches(|before, query| {
        assert!(query.contains("resourceVersion=10"), "{query}");
        let details = json!({ "retryAfterSeconds": 7 });
        let status = json!({
            "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 429, "reason": "TooManyRequests",
            "message": "storage is (re)initializing", "details": details,
        });
        if before < 2 {
            json_response(StatusCode::TOO_MANY_REQUESTS, &status)
        } else {
            watch_response(&[], idle())
        }
    });
    let items = items_within(30, events(client, Config::default())).await;
    assert_eq!(items.len(), 5, "{items:?}");
    assert!(items[4].contains("(re)initializing"), "{items:?}");
    let kinds: Vec<_> = log.all().iter().map(|request| (request.at, request.is_watch())).collect();
    assert_eq!(kinds, [(0, false), (0, true), (7, true), (14, true)], "without a list");
}

#[tokio::test(start_paused = true)]
async fn an_undecodable_object_does_not_delay_the_others() {
    let (client, _log) = scripted_watches(|_, _| {
        let events = [undecodable("bad", "11"), object("b", "12")].map(|object| event("ADDED", object));
        watch_response(&events, idle())
    });
    let items = items_within(5, events(client, Config::default())).await;
    assert!(items[3].contains("bad: "), "{items:?}");
    assert_eq!(items[4], "Apply(b)");
}

#[tokio::test(start_paused = true)]
async fn the_waits_of_the_backoff_and_of_the_watcher_run_concurrently() {
    let (client, log) = scripted_watches(|_, _| watch_response(&[], end_of_stream()));
    let ten_seconds =
        backon::ExponentialBuilder::default().with_min_delay(Duration::from_secs(10)).without_max_times();
    let flat =
        kube_runtime::watcher::ExponentialBackoff::from(ten_seconds.with_max_delay(Duration::from_secs(10)));
    let mut events = pin!(events(client, Config::default()).backoff(flat));
    let _ = timeout(Duration::from_secs(35), async {
        loop {
            let _ = expect_next(&mut events).await;
        }
    })
    .await;
    let watches: Vec<u64> = log.watches().iter().map(|request| request.at).collect();
    assert_eq!(watches, [0, 10, 20, 30]);
}

/// Every watch is refused, every list succeeds.
#[tokio::test(start_paused = true)]
async fn a_server_that_refuses_watches_is_rarely_listed() {
    for backoff in [false, true] {
        let (client, log) =
            scripted_watches(|_, _| status_response(StatusCode::INTERNAL_SERVER_ERROR, "InternalError"));
        let events = events(client, Config::default());
        let items = if backoff {
            items_within(600, events.default_backoff()).await
        } else {
            items_within(600, events).await
        };
        let (lists, watches) = (log.lists().len(), log.watches().len());
        assert!((2..=4).contains(&lists), "{lists} lists, {watches} watches in ten minutes");
        assert!(watches > 15, "it keeps retrying: {watches}");
        assert!(items.len() > watches, "each refusal is an error");
    }
}

/// Every watch is refused as expired, so the watcher has to relist.
#[tokio::test(start_paused = true)]
async fn a_server_whose_versions_expire_at_once_is_listed_with_growing_waits() {
    let (client, log) = scripted_watches(|_, _| status_response(StatusCode::GONE, "Expired"));
    items_within(600, events(client, Config::default())).await;
    let lists = log.lists().len();
    assert!((15..=35).contains(&lists), "{lists} lists in ten minutes");
}

#[tokio::test(start_paused = true)]
async fn a_finite_backoff_does_not_end_the_watch() {
    let (client, log) = scripted_watches(|_, _| watch_response(&[], end_of_stream()));
    let three = backon::ExponentialBuilder::default().with_min_delay(Duration::from_secs(10));
    let backoff = kube_runtime::watcher::ExponentialBackoff::from(three);
    items_within(3600, events(client, Config::default()).backoff(backoff)).await;
    let watches: Vec<u64> = log.watches().iter().map(|request| request.at).collect();
    assert_eq!(watches[..6], [0, 10, 30, 70, 110, 150], "waits of 10 s, 20 s, 40 s, then 40 s each");
    assert!(watches.len() > 80, "{}", watches.len());
}

/// By the client's idle timeout, with a server that keeps the watch open and sends nothing.
#[tokio::test(start_paused = true)]
async fn an_idle_watch_over_http_1_1_is_resumed_after_55_seconds() {
    let (server, log) = scripted_watches(|_, query| {
        assert!(query.contains("resourceVersion=10"), "{query}");
        watch_response(&[], idle())
    });
    let service = service_fn(move |request: Request<Body>| {
        let server = server.clone();
        async move { server.send(request).await }
    });
    let limited = DeadlineLayer::new(Duration::from_secs(55)).layer(service);
    let items = items_within(600, events(Client::new(limited, "default"), Config::default())).await;
    assert_eq!(items, ["Init", "InitApply(a)", "InitDone"]);
    let watches: Vec<u64> = log.watches().iter().map(|request| request.at).collect();
    assert_eq!(watches[..4], [0, 55, 110, 165]);
    assert_eq!(log.lists().len(), 1);
}

/// The client ends an idle watch with `TimedOut`.
#[tokio::test(start_paused = true)]
async fn a_watch_cut_by_the_clients_idle_timeout_is_resumed_without_an_error() {
    let (client, log) = scripted_watches(|_, query| {
        assert!(query.contains("resourceVersion=10"), "{query}");
        watch_response(&[], error_after(55, std::io::ErrorKind::TimedOut))
    });
    let items = items_within(600, events(client, Config::default())).await;
    assert_eq!(items, ["Init", "InitApply(a)", "InitDone"]);
    let watches: Vec<u64> = log.watches().iter().map(|request| request.at).collect();
    assert_eq!(watches[..4], [0, 55, 110, 165]);
    assert_eq!(log.lists().len(), 1);
}

/// An aggregated API that counts the changes of each object separately.
#[tokio::test(start_paused = true)]
async fn versions_counted_per_object_cause_one_relist() {
    let (client, log) = scripted_watches(|before, _| {
        let changes = ["2", "3", "4", "5"].map(|version| event("MODIFIED", object("b", version)));
        watch_response(if before < 2 { &changes } else { &[] }, idle())
    });
    let items = items_within(600, events(client, Config::default())).await;
    assert!(items[3].contains("went back"), "{items:?}");
    assert_eq!(items[4..7], ["Init", "InitApply(a)", "InitDone"]);
    assert_eq!(items[7..11], ["Apply(b)"; 4], "no change is lost");
    assert_eq!(log.lists().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_backoff_may_return_the_longest_duration() {
    struct Never;
    impl Iterator for Never {
        type Item = Duration;

        fn next(&mut self) -> Option<Duration> {
            Some(Duration::MAX)
        }
    }
    impl kube_runtime::utils::Backoff for Never {
        fn reset(&mut self) {}
    }
    let (client, log) = scripted_watches(|_, _| watch_response(&[], end_of_stream()));
    let api: Api<ConfigMap> = Api::default_namespaced(client.clone());
    items_within(600, events(client, Config::default()).backoff(Never)).await;
    assert_eq!(log.watches().len(), 1);
    let controller = Controller::new(api, Config::default()).trigger_backoff(Never);
    let output = controller.run(
        async |_, _| Ok::<_, Infallible>(Action::await_change()),
        |_, _, _| Action::await_change(),
        Arc::new(()),
    );
    let _elapsed = timeout(Duration::from_secs(600), output.for_each(|_| std::future::ready(()))).await;
    assert_eq!(log.watches().len(), 2);
}

/// Agents whose versions expire at one instant list over the configured time. The first list of each is at once.
#[tokio::test(start_paused = true)]
async fn the_relists_of_many_watchers_are_spread() {
    let relists = async |config: Config| {
        let mut seconds = Vec::new();
        for _ in 0..100 {
            let (client, log) = scripted_watches(|before, _| match before {
                0 => watch_response(&[event("ERROR", json!({ "code": 410, "reason": "Expired" }))], idle()),
                _ => watch_response(&[], idle()),
            });
            items_within(70, events(client, config.clone())).await;
            let lists: Vec<u64> = log.lists().iter().map(|request| request.at).collect();
            let [0, relist] = lists[..] else { panic!("{lists:?}") };
            seconds.push(relist);
        }
        seconds.sort_unstable();
        seconds
    };
    assert_eq!(relists(Config::default()).await, [0; 100]);
    let spread = relists(Config::default().relist_spread(Duration::from_secs(60))).await;
    assert!(
        spread[99] <= 60 && spread[90] > 40 && (15..45).contains(&spread[50]) && spread[10] < 20,
        "{spread:?}"
    );
}

/// What never ends is no reason to panic.
#[tokio::test(start_paused = true)]
async fn an_endless_spread_waits() {
    let (client, log) = scripted_watches(|_, _| {
        watch_response(&[event("ERROR", json!({ "code": 410, "reason": "Expired" }))], idle())
    });
    items_within(600, events(client, Config::default().relist_spread(Duration::MAX))).await;
    assert_eq!(log.lists().len(), 1);
}
