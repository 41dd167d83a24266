//! How a manager lists: by streaming lists where the server can do that.

use crate::manager::{Log, logging, maps, run, seconds, server_with};
use http::Request;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube_client::{Api, Client, client::Body};
use kube_operator::manager::Manager;
use kube_runtime::{Controller, watcher};
use kube_testserver::{ApiServer, Fault, Match};
use std::{
    convert::Infallible,
    sync::{Arc, Mutex},
};
use tokio::time::sleep;
use tower::ServiceExt;

type Requests = Arc<Mutex<Vec<&'static str>>>;

/// A client of the server, and how it lists: `list` or `stream`.
fn recorded(server: &ApiServer) -> (Client, Requests) {
    let (requests, server) = (Requests::default(), server.clone());
    let seen = Arc::clone(&requests);
    let service = tower::service_fn(move |request: Request<Body>| {
        let query = request.uri().query().unwrap_or_default();
        if query.contains("sendInitialEvents=true") {
            seen.lock().unwrap().push("stream");
        } else if !query.contains("watch=") && request.method() == "GET" && !query.contains("limit=1") {
            seen.lock().unwrap().push("list");
        }
        server.clone().oneshot(request)
    });
    (Client::new(service, "default"), requests)
}

/// A manager with a controller that owns secrets, and a cache of secrets, after its start.
async fn lists(client: &Client, change: impl FnOnce(Manager) -> Manager) -> Log {
    let log = Log::default();
    let mut manager = Manager::new(client.clone());
    let secrets = manager.cache(Api::<Secret>::all(client.clone()), watcher::Config::default());
    let controller = maps(client).owns(Api::<Secret>::all(client.clone()), watcher::Config::default());
    let manager =
        change(manager.controller("maps", controller, logging("reconciled"), Arc::new(log.clone())));
    let (stop, running) = run(manager);
    sleep(seconds(10)).await;
    assert!(secrets.is_ready());
    stop.cancel();
    running.await.unwrap().unwrap();
    log
}

#[tokio::test(start_paused = true)]
async fn controllers_and_caches_of_a_manager_list_by_streams_and_one_switch_turns_that_off() {
    let (server, _) = server_with(&["a"]).await;
    let (client, requests) = recorded(&server);
    let log = lists(&client, |manager| manager).await;
    assert_eq!(*requests.lock().unwrap(), ["stream"; 3]);
    assert_eq!(log.take(), ["reconciled a"]);
    requests.lock().unwrap().clear();
    let log = lists(&client, Manager::without_streaming_lists).await;
    assert_eq!(*requests.lock().unwrap(), ["list"; 3]);
    assert_eq!(log.take(), ["reconciled a"]);
}

/// A refusal is no error, and is found once for a kind.
#[tokio::test(start_paused = true)]
async fn a_server_without_streaming_lists_is_asked_once_for_each_kind() {
    let (server, _) = server_with(&["a"]).await;
    server.fault(Match::watch::<Secret>().times(2), Fault::status(422, "Invalid"));
    let (client, requests) = recorded(&server);
    let log = lists(&client, |manager| manager).await;
    assert_eq!(log.take(), ["reconciled a"]);
    let mut first = std::mem::take(&mut *requests.lock().unwrap());
    first.sort_unstable();
    assert_eq!(
        first,
        ["list", "list", "stream", "stream", "stream"],
        "both watches of secrets begin at once"
    );
    lists(&client, |manager| manager).await;
    let mut second = std::mem::take(&mut *requests.lock().unwrap());
    second.sort_unstable();
    assert_eq!(second, ["list", "list", "stream"], "secrets are listed, and maps are not affected");
}

#[tokio::test(start_paused = true)]
async fn a_bare_controller_lists_by_pages_unless_it_chooses_otherwise() {
    use futures::StreamExt;
    let (server, _) = server_with(&["a"]).await;
    for (prefers, expected) in [(false, "list"), (true, "stream")] {
        let (client, requests) = recorded(&server);
        let controller: Controller<ConfigMap> = maps(&client);
        let controller = if prefers { controller.prefer_streaming_lists() } else { controller };
        let reconcile = async |_: Arc<ConfigMap>, _: Arc<()>| {
            Ok::<_, Infallible>(kube_runtime::controller::Action::await_change())
        };
        let policy =
            |_: Arc<ConfigMap>, _: &Infallible, _: Arc<()>| kube_runtime::controller::Action::retry();
        let output = controller.run(reconcile, policy, Arc::new(()));
        std::pin::pin!(output).next().await.unwrap().unwrap();
        assert_eq!(*requests.lock().unwrap(), [expected]);
    }
}
