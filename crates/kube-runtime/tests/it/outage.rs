//! Outages of the API server, under paused time: how long until everything is reconciled again, and what the outage costs.

use crate::{
    common::{ApiExt, config_maps, named},
    scripted_server::{
        RequestLog, event, list, object, scripted_server, scripted_watches, status_response, watch_response,
    },
};
use futures::{Stream, StreamExt, stream};
use http::{Request, StatusCode};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube_client::{Api, Client, client::Body};
use kube_core::ResourceExt;
use kube_runtime::{
    Controller, WatchStreamExt,
    controller::Action,
    reflector,
    watcher::{Config, Event, ExponentialBackoff, watcher},
};
use kube_testserver::ApiServer;
use std::{
    convert::Infallible,
    io,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::{
    sync::{mpsc, watch},
    time::{Instant, sleep},
};
use tower::{ServiceExt, service_fn};

/// A server that can be away. Its watches break then, and its history is gone when it is back.
struct Server {
    server: ApiServer,
    away: watch::Sender<bool>,
    attempts: Arc<AtomicUsize>,
}

impl Server {
    fn new() -> Self {
        Self { server: ApiServer::new(), away: watch::Sender::new(false), attempts: Arc::default() }
    }

    fn client(&self) -> Client {
        let (server, away, attempts) =
            (self.server.clone(), self.away.subscribe(), Arc::clone(&self.attempts));
        let service = service_fn(move |request: Request<Body>| {
            let (server, mut away, attempts) = (server.clone(), away.clone(), Arc::clone(&attempts));
            async move {
                if *away.borrow_and_update() {
                    attempts.fetch_add(1, Ordering::Relaxed);
                    return Err(io::Error::from(io::ErrorKind::ConnectionRefused));
                }
                let response = server.oneshot(request).await?;
                let broken = async move {
                    let _ended = away.wait_for(|away| *away).await;
                };
                let body = response.map(|body| {
                    let body = body.map_err(|error| io::Error::other(error.to_string())).into_data_stream();
                    body.take_until(Box::pin(broken)).map(|data| data.map(Frame::data))
                });
                Ok(body.map(|body| StreamBody::new(body.boxed())))
            }
        });
        Client::new(service, "default")
    }

    /// It is away for this long, and forgets its history. Returns the number of attempts to reach it.
    async fn outage(&self, length: Duration) -> usize {
        self.attempts.store(0, Ordering::Relaxed);
        self.away.send_replace(true);
        sleep(length).await;
        self.server.compact();
        self.away.send_replace(false);
        self.attempts.load(Ordering::Relaxed)
    }

    /// Changes an object by a client that is never cut off.
    async fn change(&self, name: &str, value: &str) {
        let client = Client::new(self.server.clone(), "default");
        config_maps(&client).touch(name, value).await;
    }
}

async fn server_with_an_object() -> Server {
    let server = Server::new();
    config_maps(&Client::new(server.server.clone(), "default")).add(named("a")).await;
    server
}

const OUTAGES: [u64; 6] = [3, 10, 20, 45, 90, 3600];

#[tokio::test(start_paused = true)]
async fn a_controller_has_reconciled_everything_5_s_after_the_server_is_back_whatever_the_outage() {
    let server = server_with_an_object().await;
    let (reconciled, mut reconciles) = mpsc::unbounded_channel();
    let controller = Controller::new(config_maps(&server.client()), Config::default())
        .owns(Api::<Secret>::default_namespaced(server.client()), Config::default())
        .run(
            |map: Arc<ConfigMap>, reconciled: Arc<mpsc::UnboundedSender<_>>| async move {
                let _ended = reconciled.send(map.annotations().get("touched").cloned());
                Ok::<_, Infallible>(Action::await_change())
            },
            |_, _, _| Action::await_change(),
            Arc::new(reconciled),
        )
        .filter_map(|item| std::future::ready(item.err()));
    let errors = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&errors);
    let running = tokio::spawn(controller.for_each(move |_| {
        counter.fetch_add(1, Ordering::Relaxed);
        std::future::ready(())
    }));
    reconciles.recv().await;
    for seconds in OUTAGES {
        sleep(Duration::from_secs(60)).await;
        errors.store(0, Ordering::Relaxed);
        let attempts = server.outage(Duration::from_secs(seconds)).await;
        // There are two watches, and this client has no connections of which one could be for both.
        assert!(attempts as u64 <= 2 * (seconds + 1), "{attempts} attempts in {seconds} s");
        server.change("a", &seconds.to_string()).await;
        let back = Instant::now();
        while reconciles.recv().await.flatten() != Some(seconds.to_string()) {}
        assert!(back.elapsed() <= Duration::from_secs(5), "{seconds} s: {:?}", back.elapsed());
        let errors = errors.load(Ordering::Relaxed);
        assert!(errors as u64 <= 2 * (10 + seconds / 30), "{seconds} s: {errors} errors");
    }
    running.abort();
}

#[tokio::test(start_paused = true)]
async fn a_store_is_current_5_s_after_the_server_is_back_whatever_the_outage() {
    let server = server_with_an_object().await;
    let (plain, writer) = reflector::store::<ConfigMap>();
    let filling =
        tokio::spawn(writer.watch(config_maps(&server.client()), Config::default()).for_each(|_| async {}));
    plain.wait_until_ready().await.unwrap();
    for seconds in OUTAGES {
        sleep(Duration::from_secs(60)).await;
        server.outage(Duration::from_secs(seconds)).await;
        server.change("a", &seconds.to_string()).await;
        let back = Instant::now();
        let current = || {
            let object = plain.get(&reflector::ObjectRef::new("a").within("default"));
            object.and_then(|object| object.annotations().get("touched").cloned())
                == Some(seconds.to_string())
        };
        while !current() {
            sleep(Duration::from_millis(100)).await;
            assert!(back.elapsed() <= Duration::from_secs(5), "{seconds} s");
        }
    }
    filling.abort();
}

/// A server that lists and refuses every watch.
fn refuses_watches() -> (Client, RequestLog) {
    scripted_watches(|_, _| status_response(StatusCode::INTERNAL_SERVER_ERROR, "InternalError"))
}

/// The seconds between the watches of ten minutes.
async fn pace<T>(log: &RequestLog, events: impl Stream<Item = T>) -> Vec<u64> {
    let items = events.for_each(|_| async {});
    let _elapsed = tokio::time::timeout(Duration::from_secs(600), items).await;
    let at: Vec<u64> = log.watches().iter().map(|request| request.at).collect();
    at.windows(2).map(|two| two[1] - two[0]).collect()
}

/// A list says nothing about the watch that follows it.
#[tokio::test(start_paused = true)]
async fn lists_between_refused_watches_do_not_shorten_the_waits_of_a_backoff_behind_the_watcher() {
    let (client, log) = refuses_watches();
    let waits = pace(&log, watcher(config_maps(&client), Config::default()).default_backoff()).await;
    assert!(log.lists().len() > 2, "there were relists");
    // The sixth is 25.6 s and jitter, then the maximum is reached.
    assert!(waits.iter().skip(6).all(|wait| (29..=31).contains(wait)), "{waits:?}");

    let own = || {
        let builder = backon::ExponentialBuilder::default().with_min_delay(Duration::from_secs(7));
        ExponentialBackoff::from(builder.with_factor(2.0).without_max_times())
    };
    let (client, log) = refuses_watches();
    let (_, writer) = reflector::store::<ConfigMap>();
    let events =
        watcher(config_maps(&client), Config::default()).backoff(own()).reflect(writer).applied_objects();
    let waits = pace(&log, events).await;
    assert_eq!(log.lists().len(), 2, "there was a relist");
    assert_eq!(waits[..8], [7, 14, 28, 56, 60, 60, 60, 60]);
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_worked_resets_the_backoff_behind_the_watcher_even_without_an_event() {
    // Two refused watches, then one that lasts 30 s, and so on.
    let (client, log) = scripted_watches(|before, _| {
        if before % 3 == 2 {
            let silence = stream::once(sleep(Duration::from_secs(30))).filter_map(|()| async { None });
            return watch_response(
                &[],
                silence.chain(stream::iter([Err(io::ErrorKind::ConnectionReset.into())])).boxed(),
            );
        }
        status_response(StatusCode::INTERNAL_SERVER_ERROR, "InternalError")
    });
    let builder = backon::ExponentialBuilder::default().with_min_delay(Duration::from_secs(2));
    let own = ExponentialBackoff::from(builder.with_factor(2.0).without_max_times());
    let waits = pace(&log, watcher(config_maps(&client), Config::default()).backoff(own)).await;
    // The end of the working watch is the first failure of the next sequence.
    assert_eq!(waits[..6], [2, 4, 32, 4, 8, 32], "{waits:?}");
    assert!(waits.iter().all(|wait| *wait <= 32), "{waits:?}");
}

#[tokio::test(start_paused = true)]
async fn a_change_resets_the_backoff_behind_the_watcher() {
    let changed = |before: usize, _: &str| {
        let change = event("MODIFIED", object("a", &(11 + before).to_string()));
        watch_response(&[change], stream::iter([Err(io::ErrorKind::ConnectionReset.into())]).boxed())
    };
    // Each watch is preceded by a list, the first one or a version check.
    let (client, log) = scripted_server(|before, _| list(&(10 + before).to_string(), &[]), changed);
    let own = ExponentialBackoff::from(
        backon::ExponentialBuilder::default().with_min_delay(Duration::from_secs(2)).without_max_times(),
    );
    let events = watcher(config_maps(&client), Config::default()).backoff(own);
    let changes = std::cell::Cell::new(0);
    let counted =
        events.inspect(|item| changes.set(changes.get() + usize::from(matches!(item, Ok(Event::Apply(_))))));
    let waits = pace(&log, counted).await;
    assert!(waits.iter().all(|wait| *wait == 2), "{waits:?}");
    assert!(changes.get() > 200);
}
