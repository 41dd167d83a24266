//! Notices on embedded servers.

#![allow(clippy::unwrap_used)]

use fleet::{Notice, NoticeSpec, Written, manager};
use k8s_openapi::{
    api::core::v1::ConfigMap, apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    Api, Client, Config, CustomResourceExt,
    api::{DeleteParams, Patch, PatchParams, PostParams},
    operator::clusters::{ClusterEvent, ClusterName, ClusterOptions, ClusterSpec, Clusters},
};
use kube_testserver::TestFleet;
use serde_json::json;
use std::time::Duration;
use tokio::{sync::oneshot, time::sleep};

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
    maps.get_opt("notice-default-hello").await.unwrap()?.data?.remove("text")
}

#[tokio::test(start_paused = true)]
async fn a_notice_is_in_all_clusters_that_it_selects() {
    let servers = TestFleet::new(["hub", "east", "west", "north"]);
    let hub = client(&servers, "hub");
    let definitions: Api<CustomResourceDefinition> = Api::all(hub.clone());
    definitions.create(&PostParams::default(), &Notice::crd()).await.unwrap();
    let notices: Api<Notice> = Api::default_namespaced(hub.clone());
    let (sender, clusters) = Clusters::channel();
    let transport = servers.clone();
    let options =
        ClusterOptions::new().connect(move |config| Client::with_transport(config, transport.clone()));
    let manager = manager(hub).clusters(clusters).cluster_options(options);
    let (stop, stopped) = oneshot::channel::<()>();
    let running = tokio::spawn(manager.run_until(async { stopped.await.unwrap_or_default() }));
    for (name, region) in [("east", "eu"), ("west", "us")] {
        sender.send(cluster(name, region)).await.unwrap();
    }
    let spec = NoticeSpec { clusters: [("region".to_owned(), "eu".to_owned())].into(), text: "hi".into() };
    notices.create(&PostParams::default(), &Notice::new("hello", spec)).await.unwrap();
    sleep(Duration::from_secs(10)).await;
    let status = async || notices.get("hello").await.unwrap().status.unwrap().clusters;
    assert_eq!((text(&servers, "east").await.as_deref(), text(&servers, "west").await), (Some("hi"), None));
    assert_eq!(status().await, [written("east")]);

    // A cluster joins; somebody deletes a copy; the notice changes.
    sender.send(cluster("north", "eu")).await.unwrap();
    let copies = Api::<ConfigMap>::default_namespaced(client(&servers, "east"));
    copies.delete("notice-default-hello", &DeleteParams::default()).await.unwrap();
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
