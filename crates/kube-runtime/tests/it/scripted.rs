//! Watching servers that misbehave, by scripts and under paused time.

use crate::{common::expect_next, script::*};
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
async fn a_server_that_closes_every_watch_at_once_is_not_stormed() {
    let (client, log) = scripted(|_, _| lines(&[], closed()));
    let told = during(600, events(client, Config::default())).await;
    // Before each watch but the first one the server is asked for its version, by a list of one object.
    let requests = log.watches().len();
    assert!(
        (60..200).contains(&requests),
        "{requests} requests in ten minutes, without any backoff of the user"
    );
    let closures = told.iter().filter(|item| item.contains("closed the watch at once")).count();
    assert!(closures + 3 >= requests - 1, "each of them is reported: {closures} of {requests}");
}

#[tokio::test(start_paused = true)]
async fn a_silent_watch_is_given_up_and_resumed() {
    let (client, log) = scripted(|_, _| lines(&[], silence()));
    let told = during(320, events(client, Config::default())).await;
    assert!(told.last().unwrap().contains("silent"), "{told:?}");
    let watches: Vec<u64> = log.watches().iter().map(|asked| asked.at).collect();
    assert_eq!(watches, [0, 305]);
}

#[tokio::test(start_paused = true)]
async fn a_streaming_list_without_an_end_becomes_a_list() {
    let (client, log) = scripted(|_, query| {
        let streaming = query.contains("sendInitialEvents=true");
        let added = event("ADDED", object("a", "7"));
        if streaming { lines(&[added], silence()) } else { lines(&[], silence()) }
    });
    let told = during(60, events(client, Config::default().streaming_lists())).await;
    assert_eq!(told[..2], ["Init", "InitApply(a)"]);
    assert!(told[2].contains("did not finish the streaming list"), "{told:?}");
    assert_eq!(told[3..], ["Init", "InitApply(a)", "InitDone"]);
    let kinds: Vec<_> = log.all().iter().map(Asked::is_watch).collect();
    assert_eq!(kinds, [true, false, true]);
}

#[tokio::test(start_paused = true)]
async fn a_busy_server_is_asked_again_when_it_says_so() {
    let (client, log) = scripted(|before, query| {
        assert!(query.contains("resourceVersion=10"), "{query}");
        let details = json!({ "retryAfterSeconds": 7 });
        let status = json!({
            "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 429, "reason": "TooManyRequests",
            "message": "storage is (re)initializing", "details": details,
        });
        if before < 2 { whole(StatusCode::TOO_MANY_REQUESTS, &status) } else { lines(&[], silence()) }
    });
    let told = during(30, events(client, Config::default())).await;
    assert_eq!(told.len(), 5, "{told:?}");
    assert!(told[4].contains("(re)initializing"), "{told:?}");
    let kinds: Vec<_> = log.all().iter().map(|asked| (asked.at, asked.is_watch())).collect();
    assert_eq!(kinds, [(0, false), (0, true), (7, true), (14, true)], "and no list in between");
}

#[tokio::test(start_paused = true)]
async fn an_undecodable_object_does_not_hold_up_the_rest() {
    let (client, _log) = scripted(|_, _| {
        let events = [undecodable("bad", "11"), object("b", "12")].map(|object| event("ADDED", object));
        lines(&events, silence())
    });
    let told = during(5, events(client, Config::default())).await;
    assert!(told[3].contains("bad: "), "{told:?}");
    assert_eq!(told[4], "Apply(b)");
}

#[tokio::test(start_paused = true)]
async fn the_waits_of_the_user_and_of_the_watcher_run_at_the_same_time() {
    let (client, log) = scripted(|_, _| lines(&[], closed()));
    let ten =
        backon::ExponentialBuilder::default().with_min_delay(Duration::from_secs(10)).without_max_times();
    let flat = kube_runtime::watcher::ExponentialBackoff::from(ten.with_max_delay(Duration::from_secs(10)));
    let mut events = pin!(events(client, Config::default()).backoff(flat));
    let _ = timeout(Duration::from_secs(35), async {
        loop {
            let _ = expect_next(&mut events).await;
        }
    })
    .await;
    let watches: Vec<u64> = log.watches().iter().map(|asked| asked.at).collect();
    assert_eq!(watches, [0, 10, 20, 30]);
}

/// A sick server: every watch is refused, every list succeeds.
#[tokio::test(start_paused = true)]
async fn a_server_that_refuses_watches_is_seldom_listed() {
    for backoff in [false, true] {
        let (client, log) = scripted(|_, _| failure(StatusCode::INTERNAL_SERVER_ERROR, "InternalError"));
        let events = events(client, Config::default());
        let told =
            if backoff { during(600, events.default_backoff()).await } else { during(600, events).await };
        let (lists, watches) = (log.lists().len(), log.watches().len());
        assert!((2..=4).contains(&lists), "{lists} lists, {watches} watches in ten minutes");
        assert!(watches > 15, "it goes on trying: {watches}");
        assert!(told.len() > watches, "each refusal is an item");
    }
}

/// The same of a server whose every version has expired: there is nothing to try but a list.
#[tokio::test(start_paused = true)]
async fn a_server_whose_versions_expire_at_once_is_listed_less_and_less_often() {
    let (client, log) = scripted(|_, _| failure(StatusCode::GONE, "Expired"));
    during(600, events(client, Config::default())).await;
    let lists = log.lists().len();
    assert!((15..=35).contains(&lists), "{lists} lists in ten minutes");
}

#[tokio::test(start_paused = true)]
async fn a_backoff_that_ends_does_not_end_the_watch() {
    let (client, log) = scripted(|_, _| lines(&[], closed()));
    let three = backon::ExponentialBuilder::default().with_min_delay(Duration::from_secs(10));
    let backoff = kube_runtime::watcher::ExponentialBackoff::from(three);
    during(3600, events(client, Config::default()).backoff(backoff)).await;
    let watches: Vec<u64> = log.watches().iter().map(|asked| asked.at).collect();
    assert_eq!(watches[..6], [0, 10, 30, 70, 110, 150], "10 s, 20 s, 40 s, and then 40 s for ever");
    assert!(watches.len() > 80, "{}", watches.len());
}

/// The client's own limit, and a server that acknowledges everything and says nothing.
#[tokio::test(start_paused = true)]
async fn a_silent_watch_over_http_1_1_is_resumed_after_55_seconds() {
    let (server, log) = scripted(|_, query| {
        assert!(query.contains("resourceVersion=10"), "{query}");
        lines(&[], silence())
    });
    let service = service_fn(move |request: Request<Body>| {
        let server = server.clone();
        async move { server.send(request).await }
    });
    let limited = DeadlineLayer::new(Duration::from_secs(55)).layer(service);
    let told = during(600, events(Client::new(limited, "default"), Config::default())).await;
    assert_eq!(told, ["Init", "InitApply(a)", "InitDone"]);
    let watches: Vec<u64> = log.watches().iter().map(|asked| asked.at).collect();
    assert_eq!(watches[..4], [0, 55, 110, 165]);
    assert_eq!(log.lists().len(), 1);
}

/// As the client ends such a watch.
#[tokio::test(start_paused = true)]
async fn a_watch_that_was_cut_for_its_silence_is_resumed_without_a_word() {
    let (client, log) = scripted(|_, query| {
        assert!(query.contains("resourceVersion=10"), "{query}");
        lines(&[], broken_after(55, std::io::ErrorKind::TimedOut))
    });
    let told = during(600, events(client, Config::default())).await;
    assert_eq!(told, ["Init", "InitApply(a)", "InitDone"]);
    let watches: Vec<u64> = log.watches().iter().map(|asked| asked.at).collect();
    assert_eq!(watches[..4], [0, 55, 110, 165]);
    assert_eq!(log.lists().len(), 1);
}

/// An aggregated API that counts the changes of each object by itself.
#[tokio::test(start_paused = true)]
async fn versions_that_count_per_object_cost_one_list() {
    let (client, log) = scripted(|before, _| {
        let changes = ["2", "3", "4", "5"].map(|version| event("MODIFIED", object("b", version)));
        lines(if before < 2 { &changes } else { &[] }, silence())
    });
    let told = during(600, events(client, Config::default())).await;
    assert!(told[3].contains("went back"), "{told:?}");
    assert_eq!(told[4..7], ["Init", "InitApply(a)", "InitDone"]);
    assert_eq!(told[7..11], ["Apply(b)"; 4], "none is lost");
    assert_eq!(log.lists().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn the_longest_wait_there_is_can_be_waited_for() {
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
    let (client, log) = scripted(|_, _| lines(&[], closed()));
    let api: Api<ConfigMap> = Api::default_namespaced(client.clone());
    during(600, events(client, Config::default()).backoff(Never)).await;
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
