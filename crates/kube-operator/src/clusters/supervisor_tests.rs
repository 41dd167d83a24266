use super::*;
use crate::clusters::{ClusterEvent, ClusterState, Look, Work};
use futures::{FutureExt, StreamExt, future};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube_client::{Api, Config, api::PostParams};
use kube_runtime::{reflector::compact_store, watcher};
use kube_testserver::{ApiServer, Fault as ServerFault, Match, TestFleet};
use std::sync::Arc;
use tokio::{sync::mpsc, task::JoinHandle, time::sleep};
use tokio_util::task::TaskTracker;

fn name(text: &str) -> ClusterName {
    text.parse().unwrap()
}

fn announced(text: &str, host: &str) -> ClusterEvent {
    ClusterSpec::new(name(text), Config::new(format!("https://{host}").parse().unwrap())).into()
}

/// Fills a compact cache with the ConfigMaps of a cluster.
fn cache(cluster: &Cluster) -> Work {
    let (store, writer) = cluster.contributor().scope(compact_store::<ConfigMap>);
    let events = writer.watch(Api::all(cluster.client()), watcher::Config::default());
    let look = move || Look { synced: store.is_ready(), fault: None };
    let run = |stop: CancellationToken, _: &TaskTracker| {
        async move {
            stop.run_until_cancelled(events.for_each(|_| async {})).await;
            Ok(())
        }
        .boxed()
    };
    Work { name: "cache".into(), look: Box::new(look), run: Box::new(run) }
}

/// What is only on the cluster of this host.
fn marker(host: &str) -> String {
    format!("only on {host}")
}

async fn servers() -> TestFleet {
    let servers = TestFleet::new(["east", "west", "north"]);
    for host in ["east", "west", "north"] {
        let client = Client::new(servers.server(host).unwrap(), "default");
        let maps: Api<ConfigMap> = Api::default_namespaced(client);
        for number in 0..20 {
            let mut map = ConfigMap::default();
            map.metadata.name = Some(format!("map-{number}"));
            map.data = Some([("text".to_owned(), format!("{} {number} ", marker(host)).repeat(20))].into());
            maps.create(&PostParams::default(), &map).await.unwrap();
        }
    }
    servers
}

struct Started {
    sender: mpsc::Sender<ClusterEvent>,
    servers: TestFleet,
    dictionaries: Dictionaries,
    fleet: Fleet,
    stop: CancellationToken,
}

async fn start() -> (Started, JoinHandle<()>) {
    start_with(Arc::new(|cluster, _lane| cache(cluster)), None).await
}

async fn start_with(make: MakeWork, clean_up: Option<CleanUp>) -> (Started, JoinHandle<()>) {
    let (sender, clusters) = Clusters::channel();
    let (dictionaries, servers, stop) = (Dictionaries::default(), servers().await, CancellationToken::new());
    let (connecting, fleet) = (servers.clone(), Fleet::default());
    let options =
        ClusterOptions::new().connect(move |config| Client::with_transport(config, connecting.clone()));
    let run = FleetRun {
        hub: Client::new(ApiServer::new(), "default"),
        providers: vec![clusters],
        make: vec![make],
        clean_up,
        options,
        fleet: fleet.clone(),
        dictionaries: dictionaries.clone(),
        stop_limit: Duration::from_secs(1),
    };
    let running = tokio::spawn(supervise(run, stop.clone()));
    (Started { sender, servers, dictionaries, fleet, stop }, running)
}

impl Started {
    async fn send(&self, event: ClusterEvent) {
        self.sender.send(event).await.unwrap();
        sleep(Duration::from_secs(20)).await;
    }

    fn state(&self, text: &str) -> ClusterState {
        let statuses = self.fleet.statuses();
        statuses.into_iter().find(|status| status.name == name(text)).unwrap().state
    }

    fn hosts_with_text(&self) -> Vec<&str> {
        let hosts = ["east", "west", "north"].into_iter();
        hosts.filter(|host| self.dictionaries.may_have_text(&marker(host))).collect()
    }
}

#[tokio::test(start_paused = true)]
async fn no_text_of_a_cluster_is_kept_after_it_has_left() {
    let (started, running) = start().await;
    started.send(announced("one", "east")).await;
    started.send(announced("two", "west")).await;
    assert!(started.hosts_with_text().contains(&"east"));
    started.send(ClusterEvent::Removed(name("one"))).await;
    assert_eq!(started.hosts_with_text(), ["west"]);
    // The name has another cluster from now on.
    started.send(announced("two", "north")).await;
    assert_eq!(started.hosts_with_text(), ["north"]);
    // So has this one, and its caches start again with another client.
    let mut config = Config::new("https://east".parse().unwrap());
    config.default_namespace = "other".into();
    started.send(ClusterSpec::new(name("two"), config).into()).await;
    assert_eq!(started.hosts_with_text(), ["east"]);
    started.stop.cancel();
    running.await.unwrap();
    assert_eq!(started.hosts_with_text(), [""; 0]);
}

/// The client of the name leads elsewhere while nothing runs: what is learned from then on is of another cluster.
#[tokio::test(start_paused = true)]
async fn no_text_of_the_cluster_before_is_kept_if_the_name_moves_between_two_starts() {
    let starts = std::sync::atomic::AtomicUsize::new(0);
    let breaks_once = move |cluster: &Cluster, _| {
        let work = cache(cluster);
        match starts.fetch_add(1, std::sync::atomic::Ordering::Relaxed) {
            0 => Work {
                run: Box::new(|stop, reconciles| {
                    let run = (work.run)(stop, reconciles);
                    let breaks = async {
                        sleep(Duration::from_secs(15)).await;
                        Err("it breaks".into())
                    };
                    async { futures::future::select(run, breaks.boxed()).await.factor_first().0 }.boxed()
                }),
                ..work
            },
            _ => work,
        }
    };
    let (started, running) = start_with(Arc::new(breaks_once), None).await;
    started.sender.send(announced("one", "east")).await.unwrap();
    sleep(Duration::from_millis(15_500)).await;
    assert_eq!(started.hosts_with_text(), ["east"]);
    started.send(announced("one", "west")).await;
    assert_eq!(started.hosts_with_text(), ["west"]);
    started.stop.cancel();
    running.await.unwrap();
}

/// Who is there is not said any more; the client takes another CA for another cluster, and so do the caches.
#[tokio::test(start_paused = true)]
async fn no_text_of_a_cluster_is_kept_that_is_made_anew_at_its_address() {
    let (started, running) = start().await;
    started.send(announced("one", "east")).await;
    let anew = started.servers.server("west").unwrap();
    anew.fault(Match::get::<Namespace>(), ServerFault::status(403, "Forbidden"));
    started.servers.insert("east", anew);
    let mut config = Config::new("https://east".parse().unwrap());
    config.root_cert = Some(vec![b"another".to_vec()]);
    started.send(ClusterSpec::new(name("one"), config).into()).await;
    assert_eq!(started.hosts_with_text(), ["west"]);
    started.stop.cancel();
    running.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn no_text_of_a_cluster_is_kept_while_it_is_cleaned_up_on() {
    let clean_up: CleanUp = Arc::new(|_, _| std::future::pending().boxed());
    let (started, running) = start_with(Arc::new(|cluster, _lane| cache(cluster)), Some(clean_up)).await;
    started.send(announced("one", "east")).await;
    started.send(announced("two", "west")).await;
    assert!(started.hosts_with_text().contains(&"east"));
    started.sender.send(ClusterEvent::Removed(name("one"))).await.unwrap();
    started.send(announced("one", "nowhere")).await;
    assert_eq!(started.hosts_with_text(), ["west"]);
    started.stop.cancel();
    running.await.unwrap();
}

/// What the program's code holds is dropped at an abort.
#[tokio::test(start_paused = true)]
async fn a_cluster_whose_end_panics_leaves_all_the_same() {
    struct Panics;
    impl Drop for Panics {
        fn drop(&mut self) {
            panic!("at the end");
        }
    }
    let make = |cluster: &Cluster, _| {
        let run = |_, _: &TaskTracker| {
            let panics = Panics;
            async move {
                std::future::pending::<()>().await;
                drop(panics);
                Ok(())
            }
            .boxed()
        };
        Work { run: Box::new(run), ..cache(cluster) }
    };
    let clean_up: CleanUp = Arc::new(|_, _| {
        let panics = Panics;
        async move {
            future::poll_fn(|_| std::task::Poll::Ready(Ok(CleanedUp::Done))).inspect(|_| drop(panics)).await
        }
        .boxed()
    });
    let (started, running) = start_with(Arc::new(make), Some(clean_up)).await;
    started.send(announced("one", "east")).await;
    started.send(ClusterEvent::Removed(name("one"))).await;
    sleep(Duration::from_secs(30)).await;
    assert!(started.fleet.statuses().is_empty(), "{:?}", started.fleet);
    started.stop.cancel();
    running.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn nothing_is_compressed_anew_while_the_program_ends() {
    let make = |cluster: &Cluster, _| {
        let work = cache(cluster);
        match cluster.name().name() {
            "one" => work,
            // It is aborted after a second.
            _ => Work {
                run: Box::new(|_stop, reconciles| (work.run)(CancellationToken::new(), reconciles)),
                ..work
            },
        }
    };
    let (started, running) = start_with(Arc::new(make), None).await;
    started.send(announced("one", "east")).await;
    started.send(announced("two", "west")).await;
    started.stop.cancel();
    sleep(Duration::from_millis(500)).await;
    assert!(started.dictionaries.may_have_text("of none"), "objects of west need the dictionary of before");
    running.await.unwrap();
    assert!(!started.dictionaries.may_have_text("of none"));
}

#[tokio::test(start_paused = true)]
async fn a_name_that_has_a_part_of_its_cluster_now_leaves_the_whole_to_another_name() {
    let (started, running) = start().await;
    started.send(announced("one", "east")).await;
    let mut config = Config::new("https://east".parse().unwrap());
    config.default_namespace = "part".into();
    let part = ClusterSpec { is_part: true, ..ClusterSpec::new(name("one"), config) };
    started.send(part.into()).await;
    started.send(announced("two", "east")).await;
    assert_eq!([started.state("one"), started.state("two")], [ClusterState::Synced; 2]);
    started.stop.cancel();
    running.await.unwrap();
}
