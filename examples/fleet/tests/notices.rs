//! Notices on embedded servers.

#![allow(clippy::unwrap_used)]

use fleet::{Notice, NoticeSpec, Written, manager};
use k8s_openapi::{
    api::core::v1::{ConfigMap, Namespace},
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    Api, Client, Config, CustomResourceExt,
    api::{DeleteParams, Patch, PatchParams, PostParams},
    operator::{
        clusters::{ClusterEvent, ClusterName, ClusterOptions, ClusterSpec, Clusters},
        manager::ManagerError,
    },
};
use kube_testserver::{Fault, FaultRule, Match, TestFleet};
use serde_json::json;
use std::{fs, time::Duration};
use tokio::{
    sync::{mpsc, oneshot},
    task::JoinHandle,
    time::sleep,
};

fn client(servers: &TestFleet, name: &str) -> Client {
    Client::new(servers.server(name).unwrap(), "default")
}

fn cluster(name: &str, region: &str) -> ClusterEvent {
    let config = Config::new(format!("https://{name}").parse().unwrap());
    ClusterSpec::new(ClusterName::new(name).unwrap(), config).label("region", region).into()
}

fn written(name: &str) -> Written {
    Written { name: name.into(), written: true, message: None }
}

/// The text of the notice `hello` in a cluster.
async fn text(servers: &TestFleet, name: &str) -> Option<String> {
    let maps = Api::<ConfigMap>::default_namespaced(client(servers, name));
    maps.get_opt("notice-default.hello").await.unwrap()?.data?.remove("text")
}

struct Started {
    notices: Api<Notice>,
    sender: mpsc::Sender<ClusterEvent>,
    stop: oneshot::Sender<()>,
    running: Running,
}

/// The program, with the kind on its hub.
async fn start(servers: &TestFleet) -> Started {
    let (sender, clusters) = Clusters::channel();
    let (notices, stop, running) = start_with(servers, clusters).await;
    Started { notices, sender, stop, running }
}

type Running = JoinHandle<Result<(), ManagerError>>;

async fn start_with(servers: &TestFleet, clusters: Clusters) -> (Api<Notice>, oneshot::Sender<()>, Running) {
    let hub = client(servers, "hub");
    let definitions: Api<CustomResourceDefinition> = Api::all(hub.clone());
    let apply = PatchParams::apply("test");
    definitions.patch(Notice::crd_name(), &apply, &Patch::Apply(Notice::crd())).await.unwrap();
    let notices: Api<Notice> = Api::default_namespaced(hub.clone());
    let transport = servers.clone();
    let options =
        ClusterOptions::new().connect(move |config| Client::with_transport(config, transport.clone()));
    let manager = manager(hub).clusters(clusters).cluster_options(options);
    let (stop, stopped) = oneshot::channel::<()>();
    let running = tokio::spawn(manager.run_until(async { stopped.await.unwrap_or_default() }));
    (notices, stop, running)
}

fn notice(region: &str) -> Notice {
    let clusters = [("region".to_owned(), region.to_owned())].into();
    Notice::new("hello", NoticeSpec { clusters, text: "hi".into() })
}

#[tokio::test(start_paused = true)]
async fn a_notice_is_in_all_clusters_that_it_selects() {
    let servers = TestFleet::new(["hub", "east", "west", "north"]);
    let Started { notices, sender, stop, running } = start(&servers).await;
    for (name, region) in [("east", "eu"), ("west", "us")] {
        sender.send(cluster(name, region)).await.unwrap();
    }
    sender.send(ClusterEvent::InitDone).await.unwrap();
    notices.create(&PostParams::default(), &notice("eu")).await.unwrap();
    sleep(Duration::from_secs(10)).await;
    let status = async || notices.get("hello").await.unwrap().status.unwrap().clusters;
    assert_eq!((text(&servers, "east").await.as_deref(), text(&servers, "west").await), (Some("hi"), None));
    assert_eq!(status().await, [written("east")]);

    // A cluster joins; somebody deletes a copy; the notice changes.
    sender.send(cluster("north", "eu")).await.unwrap();
    let copies = Api::<ConfigMap>::default_namespaced(client(&servers, "east"));
    copies.delete("notice-default.hello", &DeleteParams::default()).await.unwrap();
    sleep(Duration::from_secs(60)).await;
    assert_eq!(status().await, [written("east"), written("north")]);
    let patch = Patch::Merge(json!({ "spec": { "text": "bye", "clusters": { "region": null } } }));
    notices.patch("hello", &PatchParams::default(), &patch).await.unwrap();
    sleep(Duration::from_secs(10)).await;
    for name in ["east", "west", "north"] {
        assert_eq!(text(&servers, name).await.as_deref(), Some("bye"), "{name}");
    }

    // One is away: the status says so, and a deleted notice waits for it.
    let west = servers.remove("west").unwrap();
    sleep(Duration::from_secs(60)).await;
    let of_west = status().await.remove(2);
    assert!(!of_west.written && of_west.message.unwrap().starts_with("cluster west is unreachable"));
    notices.delete("hello", &DeleteParams::default()).await.unwrap();
    sleep(Duration::from_secs(10)).await;
    assert_eq!((text(&servers, "east").await, notices.get("hello").await.is_ok()), (None, true));
    servers.insert("west", west);
    sleep(Duration::from_secs(60)).await;
    assert_eq!(
        (text(&servers, "west").await, notices.get_opt("hello").await.unwrap().is_none()),
        (None, true)
    );
    stop.send(()).unwrap();
    running.await.unwrap().unwrap();
}

/// A cluster that is not there yet is not one that is gone.
#[tokio::test(start_paused = true)]
async fn a_deleted_notice_stays_until_all_clusters_are_known() {
    let servers = TestFleet::new(["hub", "east"]);
    let Started { notices, sender, stop, running } = start(&servers).await;
    sender.send(cluster("east", "eu")).await.unwrap();
    notices.create(&PostParams::default(), &notice("eu")).await.unwrap();
    sleep(Duration::from_secs(10)).await;
    assert_eq!(text(&servers, "east").await.as_deref(), Some("hi"));
    stop.send(()).unwrap();
    running.await.unwrap().unwrap();
    notices.delete("hello", &DeleteParams::default()).await.unwrap();

    let Started { sender, stop, running, .. } = start(&servers).await;
    sleep(Duration::from_secs(60)).await;
    assert!(notices.get_opt("hello").await.unwrap().is_some(), "no cluster is announced yet");
    sender.send(cluster("east", "eu")).await.unwrap();
    sender.send(ClusterEvent::InitDone).await.unwrap();
    sleep(Duration::from_secs(10)).await;
    let (text, notice) = (text(&servers, "east").await, notices.get_opt("hello").await.unwrap());
    assert_eq!((text, notice.is_none()), (None, true));
    stop.send(()).unwrap();
    running.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_copy_that_somebody_deletes_is_written_again() {
    let servers = TestFleet::new(["hub", "east"]);
    let Started { notices, sender, stop, running } = start(&servers).await;
    sender.send(cluster("east", "eu")).await.unwrap();
    notices.create(&PostParams::default(), &notice("eu")).await.unwrap();
    sleep(Duration::from_secs(60)).await;
    let copies = Api::<ConfigMap>::default_namespaced(client(&servers, "east"));
    copies.delete("notice-default.hello", &DeleteParams::default()).await.unwrap();
    sleep(Duration::from_secs(10)).await;
    assert_eq!(text(&servers, "east").await.as_deref(), Some("hi"));
    stop.send(()).unwrap();
    running.await.unwrap().unwrap();
}

/// A name may be taken before the notice is there.
#[tokio::test(start_paused = true)]
async fn a_config_map_of_somebody_else_is_left_alone_and_the_status_says_so() {
    let servers = TestFleet::new(["hub", "east"]);
    let maps = Api::<ConfigMap>::default_namespaced(client(&servers, "east"));
    let mut foreign = ConfigMap::default();
    foreign.metadata.name = Some("notice-default.hello".into());
    foreign.data = Some([("text".to_owned(), "mine".to_owned())].into());
    maps.create(&PostParams::default(), &foreign).await.unwrap();
    let Started { notices, sender, stop, running } = start(&servers).await;
    sender.send(cluster("east", "eu")).await.unwrap();
    sender.send(ClusterEvent::InitDone).await.unwrap();
    notices.create(&PostParams::default(), &notice("eu")).await.unwrap();
    sleep(Duration::from_secs(60)).await;
    assert_eq!(text(&servers, "east").await.as_deref(), Some("mine"));
    let status = async || notices.get("hello").await.unwrap().status.unwrap().clusters.remove(0);
    let Written { written: false, message: Some(message), .. } = status().await else { panic!("written") };
    let expected = "ConfigMap notice-default.hello belongs to somebody else: expected none, or one with the annotation \
                    example.com/notice: default/hello";
    assert_eq!(message, expected);

    maps.delete("notice-default.hello", &DeleteParams::default()).await.unwrap();
    sleep(Duration::from_secs(60)).await;
    assert_eq!((status().await, text(&servers, "east").await.as_deref()), (written("east"), Some("hi")));

    // A copy that somebody has taken over stays when the notice is deleted.
    let taken = json!({ "metadata": { "annotations": null, "labels": null }, "data": { "text": "mine" } });
    maps.patch("notice-default.hello", &PatchParams::default(), &Patch::Merge(taken)).await.unwrap();
    notices.delete("hello", &DeleteParams::default()).await.unwrap();
    sleep(Duration::from_secs(60)).await;
    assert!(notices.get_opt("hello").await.unwrap().is_none());
    assert_eq!(text(&servers, "east").await.as_deref(), Some("mine"));
    stop.send(()).unwrap();
    running.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_notice_follows_the_labels_of_clusters() {
    let servers = TestFleet::new(["hub", "east", "west"]);
    let Started { notices, sender, stop, running } = start(&servers).await;
    for (name, region) in [("east", "eu"), ("west", "us")] {
        sender.send(cluster(name, region)).await.unwrap();
    }
    notices.create(&PostParams::default(), &notice("eu")).await.unwrap();
    sleep(Duration::from_secs(60)).await;
    for (name, region) in [("east", "us"), ("west", "eu")] {
        sender.send(cluster(name, region)).await.unwrap();
    }
    sleep(Duration::from_secs(20)).await;
    assert_eq!((text(&servers, "east").await, text(&servers, "west").await.as_deref()), (None, Some("hi")));
    stop.send(()).unwrap();
    running.await.unwrap().unwrap();
}

/// Otherwise an outage of one is load on all others.
#[tokio::test(start_paused = true)]
async fn while_a_cluster_is_away_the_status_of_a_notice_is_not_written_again() {
    let servers = TestFleet::new(["hub", "east", "west"]);
    let Started { notices, sender, stop, running } = start(&servers).await;
    for name in ["east", "west"] {
        sender.send(cluster(name, "eu")).await.unwrap();
    }
    servers.server("east").unwrap().fault(Match::patch::<ConfigMap>(), Fault::Delay(Duration::from_secs(2)));
    notices.create(&PostParams::default(), &notice("eu")).await.unwrap();
    servers.remove("west");
    sleep(Duration::from_secs(60)).await;
    let version = async || notices.get("hello").await.unwrap().metadata.resource_version;
    let before = version().await;
    sleep(Duration::from_secs(120)).await;
    assert_eq!(version().await, before);
    stop.send(()).unwrap();
    running.await.unwrap().unwrap();
}

/// A rollout is no outage: nobody who waits for the status is told so.
#[tokio::test(start_paused = true)]
async fn a_restart_says_of_no_notice_that_it_is_not_written() {
    let servers = TestFleet::new(["hub", "east", "west"]);
    let mut versions = Vec::new();
    for is_first in [true, false] {
        let Started { notices, sender, stop, running } = start(&servers).await;
        if is_first {
            notices.create(&PostParams::default(), &notice("eu")).await.unwrap();
        }
        for name in ["east", "west"] {
            sleep(Duration::from_secs(5)).await;
            sender.send(cluster(name, "eu")).await.unwrap();
        }
        sleep(Duration::from_secs(60)).await;
        let present = notices.get("hello").await.unwrap();
        assert_eq!(present.status.unwrap().clusters, [written("east"), written("west")]);
        versions.push(present.metadata.resource_version.unwrap());
        stop.send(()).unwrap();
        running.await.unwrap().unwrap();
    }
    assert_eq!(versions[0], versions[1], "nothing was written after the restart");
}

/// A cluster that is created again has its name and nothing else.
#[tokio::test(start_paused = true)]
async fn a_cluster_that_is_created_again_gets_the_notices() {
    let servers = TestFleet::new(["hub", "east", "new"]);
    let Started { notices, sender, stop, running } = start(&servers).await;
    sender.send(cluster("east", "eu")).await.unwrap();
    notices.create(&PostParams::default(), &notice("eu")).await.unwrap();
    sleep(Duration::from_secs(60)).await;
    let config = Config::new("https://new".parse().unwrap());
    let anew = ClusterSpec::new(ClusterName::new("east").unwrap(), config).label("region", "eu");
    sender.send(anew.into()).await.unwrap();
    sleep(Duration::from_secs(30)).await;
    assert_eq!(text(&servers, "new").await.as_deref(), Some("hi"));
    stop.send(()).unwrap();
    running.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn notices_of_two_namespaces_have_two_copies() {
    let servers = TestFleet::new(["hub", "east"]);
    let Started { sender, stop, running, .. } = start(&servers).await;
    sender.send(cluster("east", "eu")).await.unwrap();
    let hub = client(&servers, "hub");
    for (namespace, name) in [("a-b", "c"), ("a", "b-c")] {
        let mut of_notices = Namespace::default();
        of_notices.metadata.name = Some(namespace.into());
        Api::all(hub.clone()).create(&PostParams::default(), &of_notices).await.unwrap();
        let spec = NoticeSpec { clusters: [].into(), text: namespace.into() };
        let notices = Api::<Notice>::namespaced(hub.clone(), namespace);
        notices.create(&PostParams::default(), &Notice::new(name, spec)).await.unwrap();
    }
    sleep(Duration::from_secs(60)).await;
    let copies = Api::<ConfigMap>::default_namespaced(client(&servers, "east"));
    for (name, text) in [("notice-a-b.c", "a-b"), ("notice-a.b-c", "a")] {
        assert_eq!(copies.get(name).await.unwrap().data.unwrap()["text"], text);
    }
    stop.send(()).unwrap();
    running.await.unwrap().unwrap();
}

/// Nor is one whose kubeconfig cannot be used yet: the volume of its certificate may be filled after the program has started.
#[tokio::test(start_paused = true)]
async fn a_deleted_notice_waits_for_a_cluster_that_cannot_be_used_yet() {
    let servers = TestFleet::new(["hub", "east"]);
    let (folder, volume) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let certificate = volume.path().join("ca.crt");
    let kubeconfig = format!(
        "clusters: [{{name: c, cluster: {{server: 'https://east', certificate-authority: '{}'}}}}]\n\
         users: [{{name: u, user: {{token: t}}}}]\n\
         contexts: [{{name: x, context: {{cluster: c, user: u}}}}]\ncurrent-context: x\n",
        certificate.display()
    );
    fs::write(folder.path().join("east.yaml"), kubeconfig).unwrap();
    let fill =
        || fs::write(&certificate, "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n").unwrap();
    fill();
    let (notices, stop, running) = start_with(&servers, Clusters::directory(folder.path())).await;
    let hello = Notice::new("hello", NoticeSpec { clusters: [].into(), text: "hi".into() });
    notices.create(&PostParams::default(), &hello).await.unwrap();
    sleep(Duration::from_secs(10)).await;
    assert_eq!(text(&servers, "east").await.as_deref(), Some("hi"));
    stop.send(()).unwrap();
    running.await.unwrap().unwrap();

    fs::remove_file(&certificate).unwrap();
    notices.delete("hello", &DeleteParams::default()).await.unwrap();
    let (_, stop, running) = start_with(&servers, Clusters::directory(folder.path())).await;
    sleep(Duration::from_secs(60)).await;
    assert!(notices.get_opt("hello").await.unwrap().is_some(), "its ConfigMap may be in east");
    fill();
    sleep(Duration::from_secs(60)).await;
    assert_eq!(
        (text(&servers, "east").await, notices.get_opt("hello").await.unwrap().is_none()),
        (None, true)
    );
    stop.send(()).unwrap();
    running.await.unwrap().unwrap();
}

/// Of 1 000 clusters, one that becomes unreachable is no request to the 999 others, for all notices.
#[tokio::test(start_paused = true)]
async fn a_change_of_one_cluster_is_no_request_to_the_others() {
    let servers = TestFleet::new(["hub", "east", "west", "north"]);
    let Started { notices, sender, stop, running } = start(&servers).await;
    for (name, region) in [("east", "eu"), ("west", "eu"), ("north", "us")] {
        sender.send(cluster(name, region)).await.unwrap();
    }
    sender.send(ClusterEvent::InitDone).await.unwrap();
    notices.create(&PostParams::default(), &notice("eu")).await.unwrap();
    sleep(Duration::from_secs(60)).await;
    let requests = ["east", "north"].map(|name| {
        let kinds = [Match::get::<ConfigMap>(), Match::patch::<ConfigMap>(), Match::delete::<ConfigMap>()];
        let fails = || Fault::status(500, "InternalError");
        kinds.map(|kind| servers.server(name).unwrap().fault(kind, fails()))
    });
    let west = servers.remove("west").unwrap();
    sleep(Duration::from_secs(60)).await;
    servers.insert("west", west);
    sleep(Duration::from_secs(60)).await;
    let status = notices.get("hello").await.unwrap().status.unwrap().clusters;
    assert_eq!(status, [written("east"), written("west")]);
    assert_eq!(requests.as_flattened().iter().map(FaultRule::hits).sum::<u64>(), 0);
    stop.send(()).unwrap();
    running.await.unwrap().unwrap();
}
