//! A whole controller: a failed write and a broken watch, under paused time.

// ANCHOR: all
use futures::StreamExt;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::runtime::{Controller, controller::Action, wait::await_condition, watcher};
use kube::{Api, Client, ResourceExt, api::ObjectMeta, api::Patch, api::PatchParams, api::PostParams};
use kube_testserver::{Fault, FaultResponse, Match, TestServer};
use std::{sync::Arc, time::Duration};

/// The reconciler under test: every namespace gets a ConfigMap called `welcome`.
async fn reconcile(namespace: Arc<Namespace>, client: Arc<Client>) -> Result<Action, kube::Error> {
    let maps: Api<ConfigMap> = Api::namespaced((*client).clone(), &namespace.name_any());
    let map = named::<ConfigMap>("welcome");
    maps.patch("welcome", &PatchParams::apply("welcomer"), &Patch::Apply(map)).await?;
    Ok(Action::requeue(Duration::from_secs(300)))
}

#[tokio::test(start_paused = true)]
async fn a_namespace_is_welcomed_although_a_write_fails_and_a_watch_breaks() {
    let server = TestServer::service();
    // The first patch fails, and the first watch breaks in the middle of a line.
    let failed =
        server.fault(Match::patch::<ConfigMap>().times(1), FaultResponse::status(500, "InternalError"));
    server.fault(Match::watch::<Namespace>().nth(1), Fault::Truncate);
    let client = Client::new(server, "default");
    let controller = Controller::new(Api::<Namespace>::all(client.clone()), watcher::Config::default()).run(
        reconcile,
        |_, _, _| Action::retry(),
        Arc::new(client.clone()),
    );
    let running = tokio::spawn(controller.for_each(async |_| ()));

    let namespace = named::<Namespace>("new");
    Api::all(client.clone()).create(&PostParams::default(), &namespace).await.unwrap();

    let maps: Api<ConfigMap> = Api::namespaced(client, "new");
    await_condition(maps.clone(), "welcome", |map: Option<&ConfigMap>| map.is_some()).await.unwrap();
    assert_eq!(failed.hits(), 1);

    // The requeue after five minutes costs no time.
    maps.delete("welcome", &Default::default()).await.unwrap();
    await_condition(maps, "welcome", |map: Option<&ConfigMap>| map.is_some()).await.unwrap();
    running.abort();
}

fn named<K: kube::Resource + Default>(name: &str) -> K {
    let mut object = K::default();
    *object.meta_mut() = ObjectMeta { name: Some(name.into()), ..Default::default() };
    object
}
// ANCHOR_END: all
