//! Server-side apply of configurations, against the embedded server.

use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Pod};
use kube_client::api::{Patch, PatchParams, PostParams};
use kube_client::client::Prune;
use kube_client::core::{PartialObjectMeta, PartialObjectMetaExt, Resource, ResourceExt};
use kube_client::{Api, Error};
use kube_testserver::{FaultResponse, Match};
use kube_tools::ApiExt as _;
use kube_tools::apply::{Sparse, extract};
use serde_json::{Value, json};

use crate::server::{config_map, in_process};

fn sparse<K>(json: Value) -> Sparse<K> {
    let Value::Object(fields) = json else { unreachable!() };
    Sparse::from_fields(fields)
}

fn map(name: &str, data: Value) -> Sparse<ConfigMap> {
    sparse(json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name }, "data": data }))
}

fn managers(object: &impl Resource) -> Vec<(&str, &str)> {
    object
        .managed_fields()
        .iter()
        .map(|it| (it.manager.as_deref().unwrap_or_default(), it.operation.as_deref().unwrap_or_default()))
        .collect()
}

#[tokio::test]
async fn what_cannot_be_applied_is_an_error_without_a_request() {
    let (client, server) = in_process();
    let rule = server.fault(Match::any(), FaultResponse::status(500, "InternalError"));
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), "default");
    let pods: Api<Pod> = Api::namespaced(client.clone(), "default");
    let me = PatchParams::apply("me");
    let elsewhere =
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a", "namespace": "b" } });
    let keyless = json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "a" }, "spec": { "volumes": [{}] } });
    let errors = [
        (maps.apply(&me, &map("", json!({}))).await.map(drop), "the ConfigMap to apply has no metadata.name"),
        (
            maps.apply(&me, &sparse(elsewhere.clone())).await.map(drop),
            "is for the namespace \"b\", but the Api is of the namespace \"default\"",
        ),
        (
            Api::all(client.clone()).apply(&me, &sparse::<ConfigMap>(elsewhere)).await.map(drop),
            "but the Api is of the whole cluster",
        ),
        (maps.apply_status(&me, &sparse(json!({}))).await.map(drop), "has no apiVersion and kind"),
        (
            pods.apply(&me, &sparse(keyless)).await.map(drop),
            "Pod a: .spec.volumes[0] has no \"name\", a key of this list",
        ),
        (maps.apply(&PatchParams::default(), &map("a", json!({}))).await.map(drop), "needs a field manager"),
    ];
    for (result, expected) in errors {
        let error = result.unwrap_err();
        assert!(matches!(error, Error::BuildRequest(_)), "{error}");
        assert!(error.to_string().contains(expected), "{error}");
    }
    assert_eq!(rule.hits(), 0);
}

#[tokio::test]
async fn two_managers_share_an_object_and_conflicts_name_who_owns_what() {
    let (client, _server) = in_process();
    let maps: Api<ConfigMap> = Api::default_namespaced(client);
    maps.apply(&PatchParams::apply("one"), &map("a", json!({ "x": "1" }))).await.unwrap();
    let both = maps.apply(&PatchParams::apply("two"), &map("a", json!({ "y": "1" }))).await.unwrap();
    assert_eq!(both.data.clone().unwrap().len(), 2);
    assert_eq!(extract(&both, "two", None).unwrap().json().unwrap()["data"], json!({ "y": "1" }));

    let error = maps.apply(&PatchParams::apply("two"), &map("a", json!({ "x": "2" }))).await.unwrap_err();
    let [conflict] = &error.field_conflicts()[..] else { panic!("{error}") };
    assert_eq!((conflict.manager_name().as_str(), conflict.field.as_str()), ("one", ".data.x"));
    let forced =
        maps.apply(&PatchParams::apply("two").force(), &map("a", json!({ "x": "2" }))).await.unwrap();
    assert_eq!(forced.data.unwrap().into_iter().collect::<Vec<_>>(), [("x".to_owned(), "2".to_owned())]);
}

#[tokio::test]
async fn metadata_alone_can_be_applied() {
    let (client, _server) = in_process();
    Api::<ConfigMap>::default_namespaced(client.clone())
        .create(&PostParams::default(), &config_map("a", "x"))
        .await
        .unwrap();
    let maps: Api<PartialObjectMeta<ConfigMap>> = Api::default_namespaced(client);
    let mut labels = config_map("a", "").metadata;
    labels.labels = Some([("seen".to_owned(), "yes".to_owned())].into());
    let applied =
        maps.apply(&PatchParams::apply("me"), &labels.into_request_partial::<ConfigMap>()).await.unwrap();
    assert_eq!(applied.labels()["seen"], "yes");
}

#[tokio::test]
async fn cluster_scoped_objects_have_no_namespace() {
    let (client, _server) = in_process();
    let namespaces: Api<Namespace> = Api::all(client);
    let shop = sparse(json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "shop" } }));
    assert_eq!(namespaces.apply(&PatchParams::apply("me"), &shop).await.unwrap().name_any(), "shop");
}

fn as_me() -> PostParams {
    PostParams { field_manager: Some("me".into()), ..PostParams::default() }
}

#[tokio::test]
async fn an_update_becomes_an_apply_also_of_an_api_that_skips_managed_fields() {
    let (client, _server) = in_process();
    let maps: Api<ConfigMap> = Api::default_namespaced(client);
    maps.create(&as_me(), &config_map("a", "x")).await.unwrap();
    let label = Patch::Merge(json!({ "metadata": { "labels": { "a": "b" } } }));
    maps.patch("a", &PatchParams { field_manager: Some("other".into()), ..PatchParams::default() }, &label)
        .await
        .unwrap();
    let pruned = maps.clone().prune(Prune::default().managed_fields());
    assert!(pruned.adopt("a", "me").await.unwrap());
    assert!(!pruned.adopt("a", "me").await.unwrap());
    let adopted = maps.get("a").await.unwrap();
    assert_eq!(managers(&adopted), [("me", "Apply"), ("other", "Update")]);
    let applied = maps.apply(&PatchParams::apply("me"), &map("a", json!({}))).await.unwrap();
    assert_eq!(applied.data.unwrap_or_default().len(), 0, "what was written before is removed");
}

#[tokio::test(start_paused = true)]
async fn adopting_is_tried_again_after_a_conflict_and_gives_up_at_last() {
    let (client, server) = in_process();
    let maps: Api<ConfigMap> = Api::default_namespaced(client);
    maps.create(&as_me(), &config_map("a", "x")).await.unwrap();
    let conflict = || FaultResponse::status(409, "Conflict");
    let rule = server.fault(Match::patch::<ConfigMap>(), conflict());
    let error = maps.adopt("a", "me").await.unwrap_err();
    assert!(matches!(error, Error::Api(status) if status.is_conflict()));
    assert_eq!(rule.hits(), 8);
    rule.remove();
    let rule = server.fault(Match::patch::<ConfigMap>().times(7), conflict());
    assert!(maps.adopt("a", "me").await.unwrap());
    assert_eq!(rule.hits(), 7);
}

#[tokio::test(start_paused = true)]
async fn an_object_that_changed_since_it_was_read_is_read_again() {
    let (client, server) = in_process();
    let maps: Api<ConfigMap> = Api::default_namespaced(client);
    let created = maps.create(&as_me(), &config_map("a", "x")).await.unwrap();
    // Another write after the one that the stale read shows.
    let label = Patch::Merge(json!({ "metadata": { "labels": { "a": "b" } } }));
    maps.patch("a", &PatchParams { field_manager: Some("other".into()), ..PatchParams::default() }, &label)
        .await
        .unwrap();
    let stale = kube_testserver::Fault::Stale(created.resource_version().unwrap().parse().unwrap());
    server.fault(Match::get::<ConfigMap>().times(1), stale);
    assert!(maps.adopt("a", "me").await.unwrap());
    let adopted = maps.get("a").await.unwrap();
    assert_eq!(managers(&adopted), [("me", "Apply"), ("other", "Update")], "the other write is not lost");
    assert_eq!(adopted.labels()["a"], "b");
}
