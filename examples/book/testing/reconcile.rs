//! A reconcile: call the reconciler with an object of the server, and look at what it wrote.

// ANCHOR: all
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::{
    Api, Client, Error, ResourceExt,
    api::{ObjectMeta, Patch, PatchParams, PostParams},
    runtime::controller::Action,
};
use kube_testserver::{FaultResponse, Match, TestServer};
use std::{collections::BTreeMap, sync::Arc};

/// Every namespace gets a ConfigMap that names its team.
async fn reconcile(namespace: Arc<Namespace>, client: Arc<Client>) -> Result<Action, Error> {
    let maps: Api<ConfigMap> = Api::namespaced((*client).clone(), &namespace.name_any());
    let team = namespace.labels().get("team").cloned().unwrap_or_else(|| "nobody".into());
    let map = ConfigMap {
        metadata: ObjectMeta { name: Some("owner".into()), ..Default::default() },
        data: Some(BTreeMap::from([("team".into(), team)])),
        ..Default::default()
    };
    maps.patch("owner", &PatchParams::apply("teams"), &Patch::Apply(map)).await?;
    Ok(Action::await_change())
}

#[tokio::test]
async fn a_namespace_gets_its_map_once() {
    let server = TestServer::service();
    let client = Client::new(server.clone(), "default");
    let namespace = Namespace {
        metadata: ObjectMeta {
            name: Some("shop".into()),
            labels: Some(BTreeMap::from([("team".into(), "tea".into())])),
            ..Default::default()
        },
        ..Default::default()
    };
    let namespace = Api::all(client.clone()).create(&PostParams::default(), &namespace).await.unwrap();
    let (namespace, context) = (Arc::new(namespace), Arc::new(client.clone()));
    let maps: Api<ConfigMap> = Api::namespaced(client, "shop");

    // The first try fails. The error is returned, so that the controller tries again.
    server.fault(Match::patch::<ConfigMap>().times(1), FaultResponse::status(503, "ServiceUnavailable"));
    let error = reconcile(namespace.clone(), context.clone()).await.unwrap_err();
    assert!(matches!(error, Error::Api(status) if status.code == 503));

    assert_eq!(reconcile(namespace.clone(), context.clone()).await.unwrap(), Action::await_change());
    let map = maps.get("owner").await.unwrap();
    assert_eq!(map.data.clone().unwrap()["team"], "tea");

    // Without a change, the next reconcile writes nothing.
    reconcile(namespace, context).await.unwrap();
    assert_eq!(maps.get("owner").await.unwrap().resource_version(), map.resource_version());
}
// ANCHOR_END: all
