//! Watchers of a client whose credentials are exchanged, or which is led to another address.

use crate::common::{ApiExt, eventually, named, spawn_outputs};
use bytes::Bytes;
use futures::StreamExt;
use http::Request;
use http_body_util::{Either, Full};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube_client::{Api, Client, Config, client::Body};
use kube_core::{
    ResourceExt,
    params::{ListParams, PostParams},
};
use kube_runtime::{
    Controller, WatchStreamExt,
    controller::{self, Action},
    reflector,
    watcher::{self, Event, watcher},
};
use kube_testserver::{ApiServer, Fault, Match, TestServer, User};
use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::{task::JoinHandle, time::sleep};
use tower::{BoxError, ServiceExt};

/// Clusters by the host of their URL, of which one accepts only some tokens.
#[derive(Clone, Default)]
struct Network {
    servers: Arc<Mutex<BTreeMap<&'static str, ApiServer>>>,
    revoked: Arc<Mutex<Vec<String>>>,
    refused: Arc<AtomicU64>,
}

impl Network {
    fn add(&self, host: &'static str, server: &ApiServer) {
        self.servers.lock().unwrap().insert(host, server.clone());
    }

    fn client(&self, config: &Config) -> Client {
        let network = self.clone();
        let transport = tower::service_fn(move |request: Request<Body>| {
            let server = network.servers.lock().unwrap().get(request.uri().host().unwrap()).cloned();
            let token =
                request.headers().get("authorization").map(|value| value.to_str().unwrap().to_owned());
            let network = network.clone();
            async move {
                let server = server.ok_or_else(|| BoxError::from("no route to this host"))?;
                // On its way: what is revoked now is refused.
                sleep(Duration::from_millis(1)).await;
                if token.is_some_and(|token| network.revoked.lock().unwrap().contains(&token)) {
                    network.refused.fetch_add(1, Ordering::Relaxed);
                    let refusal = Either::Right(Full::<Bytes>::default());
                    return Ok(http::Response::builder().status(401).body(refusal).unwrap());
                }
                let response = server.oneshot(request).await.map_err(BoxError::from)?;
                Ok::<_, BoxError>(response.map(Either::Left))
            }
        });
        Client::with_transport(config, transport).unwrap()
    }
}

fn config(host: &str, token: Option<&str>) -> Config {
    let mut config = Config::new(format!("https://{host}").parse().unwrap());
    config.auth_info.token = token.map(|token| token.to_owned().into());
    config
}

/// A watch, and what it has seen.
#[derive(Default)]
struct Seen {
    lists: AtomicU64,
    errors: Mutex<Vec<String>>,
}

fn watch(client: &Client) -> (reflector::Store<ConfigMap>, Arc<Seen>, JoinHandle<()>) {
    let (store, writer) = reflector::store::<ConfigMap>();
    let seen = Arc::new(Seen::default());
    let of_task = Arc::clone(&seen);
    let api = Api::<ConfigMap>::default_namespaced(client.clone());
    let events = watcher(api, watcher::Config::default()).default_backoff().reflect(writer);
    let task = tokio::spawn(events.for_each(move |event| {
        match event {
            Ok(Event::Init) => drop(of_task.lists.fetch_add(1, Ordering::Relaxed)),
            Ok(_) => {}
            Err(error) => of_task.errors.lock().unwrap().push(error.to_string()),
        }
        futures::future::ready(())
    }));
    (store, seen, task)
}

fn names(store: &reflector::Store<ConfigMap>) -> Vec<String> {
    let mut names: Vec<_> = store.state().iter().map(|object| object.name_any()).collect();
    names.sort();
    names
}

fn maps(server: &ApiServer) -> Api<ConfigMap> {
    Api::default_namespaced(Client::new(server.clone(), "default"))
}

/// The old token is refused from the moment in which the new one is set.
#[tokio::test(start_paused = true)]
async fn twenty_watches_and_a_thousand_requests_a_second_survive_rotations() {
    let tokens: Vec<_> = (0..10).map(|number| format!("token-{number}")).collect();
    let users = tokens.iter().enumerate().map(|(number, token)| {
        User::new(format!("admin-{number}")).group("system:masters").token(token.clone())
    });
    let server =
        users.fold(TestServer::builder(), |builder, user| builder.with_user(user)).service().unwrap();
    let network = Network::default();
    network.add("a", &server);
    let client = network.client(&config("a", Some(&tokens[0])));
    let watches: Vec<_> = (0..20).map(|_| watch(&client.clone())).collect();
    for (store, ..) in &watches {
        store.wait_until_ready().await.unwrap();
    }
    let requests = Arc::new(AtomicU64::new(0));
    let load = tokio::spawn({
        let (client, requests) = (client.clone(), Arc::clone(&requests));
        async move {
            loop {
                let gets = (0..10).map(|_| {
                    let (client, requests) = (client.clone(), Arc::clone(&requests));
                    async move {
                        client.apiserver_version().await.unwrap();
                        requests.fetch_add(1, Ordering::Relaxed);
                    }
                });
                futures::future::join_all(gets).await;
                sleep(Duration::from_millis(10)).await;
            }
        }
    });
    for (number, token) in tokens.iter().enumerate().skip(1) {
        sleep(Duration::from_millis(300)).await;
        client.set_credentials(config("a", Some(token))).await.unwrap();
        network.revoked.lock().unwrap().push(format!("Bearer {}", tokens[number - 1]));
        let name = format!("map-{number}");
        maps(&server).add(named(&name)).await;
        for (store, ..) in &watches {
            eventually(async || names(store).contains(&name)).await;
        }
    }
    assert!(network.refused.load(Ordering::Relaxed) > 0, "some requests were on their way");
    assert!(!load.is_finished(), "no request has failed");
    load.abort();
    assert!(requests.load(Ordering::Relaxed) >= 2_000, "{requests:?}");
    for (_, seen, task) in watches {
        assert_eq!(seen.lists.load(Ordering::Relaxed), 1, "no relist");
        assert!(seen.errors.lock().unwrap().is_empty());
        task.abort();
    }
}

#[tokio::test(start_paused = true)]
async fn another_address_of_the_same_cluster_is_resumed() {
    let server = ApiServer::new();
    let network = Network::default();
    network.add("old", &server);
    network.add("new", &server);
    let client = network.client(&config("old", None));
    maps(&server).add(named("a")).await;
    let (store, seen, task) = watch(&client);
    store.wait_until_ready().await.unwrap();
    client.set_credentials(config("new", None)).await.unwrap();
    network.servers.lock().unwrap().remove("old");
    server.end_watches();
    maps(&server).add(named("b")).await;
    eventually(async || names(&store).contains(&"b".to_owned())).await;
    assert_eq!(seen.lists.load(Ordering::Relaxed), 1);
    task.abort();
}

#[tokio::test(start_paused = true)]
async fn another_cluster_is_listed_anew_at_once_whatever_its_versions() {
    // Of the two clusters one has lower versions, and both have an object of one name.
    for newer in [0, 50] {
        let (old, new) = (ApiServer::new(), ApiServer::new());
        for number in 0..newer {
            maps(&new).add(named(&format!("more-{number}"))).await;
        }
        for name in ["a", "b", "c"] {
            maps(&old).add(named(name)).await;
        }
        maps(&new).add(named("b")).await;
        let network = Network::default();
        network.add("old", &old);
        network.add("new", &new);
        let client = network.client(&config("old", None));
        let (store, seen, task) = watch(&client);
        store.wait_until_ready().await.unwrap();
        assert!(names(&store).contains(&"a".to_owned()));
        client.set_credentials(config("new", None)).await.unwrap();
        let expected = maps(&new).get("b").await.unwrap().uid();
        let uid_of_b = || store.find(|map| map.name_any() == "b").and_then(|map| map.uid());
        eventually(async || uid_of_b() == expected && !names(&store).contains(&"a".to_owned())).await;
        maps(&old).add(named("late")).await;
        maps(&new).add(named("last")).await;
        eventually(async || names(&store).contains(&"last".to_owned())).await;
        assert!(!names(&store).contains(&"late".to_owned()));
        assert_eq!(seen.lists.load(Ordering::Relaxed), 2);
        let errors = seen.errors.lock().unwrap();
        assert!(errors.len() == 1 && errors[0].contains("another cluster"), "{errors:?}");
        task.abort();
    }
}

/// It cannot be told apart, and a list is right in either case.
#[tokio::test(start_paused = true)]
async fn an_address_that_does_not_say_which_cluster_it_is_is_listed_anew() {
    let server = ApiServer::new();
    let network = Network::default();
    network.add("old", &server);
    network.add("new", &server);
    let client = network.client(&config("old", None));
    let (store, seen, task) = watch(&client);
    store.wait_until_ready().await.unwrap();
    let silent = server.fault(Match::path("/api/v1/namespaces/kube-system"), Fault::Stall);
    client.set_credentials(config("new", None)).await.unwrap();
    silent.remove();
    eventually(async || seen.lists.load(Ordering::Relaxed) == 2).await;
    task.abort();
}

/// Other CA certificates at one address: a cluster that was created again, or a rotation.
#[tokio::test(start_paused = true)]
async fn another_ca_is_another_cluster_only_if_the_server_says_so() {
    for (recreated, silent, lists) in [(false, false, 1), (false, true, 1), (true, false, 2)] {
        let server = ApiServer::new();
        let network = Network::default();
        network.add("a", &server);
        let client = network.client(&config("a", None));
        let (store, seen, task) = watch(&client);
        store.wait_until_ready().await.unwrap();
        let mut new = config("a", None);
        new.root_cert = Some(vec![]);
        let fault = silent.then(|| server.fault(Match::path("/api/v1/namespaces/kube-system"), Fault::Stall));
        if recreated {
            // Asked before: afterwards the old one is gone.
            client.set_credentials(new.clone()).await.unwrap();
            network.add("a", &ApiServer::new());
            new.root_cert = None;
        }
        client.set_credentials(new).await.unwrap();
        drop(fault);
        sleep(Duration::from_secs(5)).await;
        assert_eq!(seen.lists.load(Ordering::Relaxed), lists, "{recreated} {silent}");
        task.abort();
    }
}

/// The new cluster refuses the list for a while, as one does that is being set up.
#[tokio::test(start_paused = true)]
async fn no_reconcile_writes_to_one_cluster_what_it_has_read_of_another() {
    let (old, new, network) = (ApiServer::new(), ApiServer::new(), Network::default());
    for (host, server) in [("old", &old), ("new", &new)] {
        network.add(host, server);
        maps(server).add(named("a")).await;
    }
    let client = network.client(&config("old", None));
    let reconciled = Arc::new(Mutex::new(Vec::new()));
    let (log, secrets) = (Arc::clone(&reconciled), Api::<Secret>::default_namespaced(client.clone()));
    let reconcile = move |map: Arc<ConfigMap>, _: Arc<()>| {
        let (log, secrets) = (Arc::clone(&log), secrets.clone());
        async move {
            log.lock().unwrap().push(map.uid().unwrap());
            sleep(Duration::from_secs(2)).await;
            let mut child: Secret = named(&format!("of-{}", map.uid().unwrap()));
            child.metadata.namespace = map.namespace();
            match secrets.create(&PostParams::default(), &child).await {
                Err(error) if !error.is_already_exists() => Err(error),
                _ => Ok(Action::requeue(Duration::from_secs(3))),
            }
        }
    };
    let controller =
        Controller::new(Api::<ConfigMap>::default_namespaced(client.clone()), watcher::Config::default())
            .with_config(controller::Config::default().wait_for_own_writes(true));
    let _monitor = controller.monitor();
    let _outputs = spawn_outputs(controller.run(reconcile, |_, _, _| Action::retry(), Arc::new(())));
    let children = async |server: &ApiServer| {
        let secrets = Api::<Secret>::default_namespaced(Client::new(server.clone(), "default"));
        let list = secrets.list(&ListParams::default()).await.unwrap();
        list.iter().map(ResourceExt::name_any).collect::<Vec<_>>()
    };
    eventually(async || !children(&old).await.is_empty()).await;
    let before = reconciled.lock().unwrap().len();
    eventually(async || reconciled.lock().unwrap().len() > before).await;
    let refused = new.fault(Match::list::<ConfigMap>(), Fault::status(403, "Forbidden"));
    client.set_credentials(config("new", None)).await.unwrap();
    let before = reconciled.lock().unwrap().len();
    sleep(Duration::from_secs(60)).await;
    assert_eq!(reconciled.lock().unwrap().len(), before, "nothing that is known holds");
    assert!(children(&new).await.is_empty(), "by a reconcile that ran");
    refused.remove();
    let uid = maps(&new).get("a").await.unwrap().uid().unwrap();
    eventually(async || children(&new).await == [format!("of-{uid}")]).await;
    assert!(reconciled.lock().unwrap()[before..].iter().all(|reconciled| *reconciled == uid));
}
