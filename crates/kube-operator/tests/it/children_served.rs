//! Children of kinds that come and go.

use crate::{
    children::{SET, apply, map, newest, owner, recorded, secret, secrets, sites},
    common::server,
    layers::failing,
};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube_client::Client;
use kube_core::{
    ApiResource, CustomResourceExt, DynamicObject, GroupVersionKind,
    params::{DeleteParams, Patch, PatchParams, PostParams},
};
use kube_operator::children::{ChildState, Children, RemovalState, RemovedChild};
use kube_runtime::{
    controller::Action,
    served::{Availability, ServedKind, ServedKinds},
};
use serde_json::json;
use std::time::Duration;
use tokio::time::{sleep, timeout};

#[derive(
    kube_derive::CustomResource,
    Clone,
    Debug,
    Default,
    serde::Deserialize,
    serde::Serialize,
    schemars::JsonSchema,
)]
#[kube(group = "example.com", version = "v1", kind = "Leaf", plural = "leaves", namespaced, crates(kube_core = kube_core))]
struct LeafSpec {}

type Definitions = kube_client::Api<CustomResourceDefinition>;
type Leaves = kube_client::Api<Leaf>;

async fn define(client: &Client, definition: &CustomResourceDefinition) {
    Definitions::all(client.clone()).create(&PostParams::default(), definition).await.unwrap();
}

async fn undefine(client: &Client) {
    let definitions = Definitions::all(client.clone());
    definitions.delete(Leaf::crd_name(), &DeleteParams::default()).await.unwrap();
    while definitions.get_opt(Leaf::crd_name()).await.unwrap().is_some() {
        sleep(Duration::from_secs(1)).await;
    }
}

/// An owner, and nothing that is known yet of leaves, whose kind is defined.
async fn owner_and_definition(client: &Client) -> ServedKinds {
    owner(client).await;
    define(client, &Leaf::crd()).await;
    ServedKinds::new(client.clone())
}

/// What is known of leaves, once something is.
async fn known(kinds: &ServedKinds) -> ServedKind {
    let mut kind = kinds.kind::<Leaf>();
    kind.next().await;
    kind
}

async fn is_there(client: &Client) -> bool {
    Leaves::default_namespaced(client.clone()).get_opt("leaf").await.unwrap().is_some()
}

/// A leaf if its kind is served, and a map after it.
async fn children(client: &Client, kinds: &ServedKinds) -> Children {
    let owner = newest(client).await;
    let mut children = Children::of(SET, &owner);
    children.add("leaf", &Leaf::new("leaf", LeafSpec {})).if_served(kinds);
    children.add("map", &map("map", "a")).after("leaf");
    children
}

#[tokio::test(start_paused = true)]
async fn a_child_is_there_while_its_kind_is_and_the_others_go_on_without_it() {
    let (_server, client) = server();
    owner(&client).await;
    let kinds = ServedKinds::new(client.clone());
    let mut kind = known(&kinds).await;
    for round in 0..2 {
        let status = apply(children(&client, &kinds).await, &client).await;
        assert!(matches!(status.children[0].state, ChildState::NotServed(Availability::Missing(_))));
        let is_recorded = recorded(&newest(&client).await).contains("Leaf");
        assert_eq!(is_recorded, round > 0, "not before something may be written");
        assert_eq!((status.is_ready(), status.to_string()), (true, "the child is ready".into()));
        assert_eq!(status.action(), Action::await_change());

        define(&client, &Leaf::crd()).await;
        kind.next().await;
        let status = apply(children(&client, &kinds).await, &client).await;
        assert_eq!((status.is_ready(), status.to_string()), (true, "all 2 children are ready".into()));
        assert!(is_there(&client).await);
        assert_eq!(recorded(&newest(&client).await), "ConfigMap/default,Leaf.example.com/default");

        undefine(&client).await;
        kind.next().await;
    }
    let status = apply(children(&client, &kinds).await, &client).await;
    assert!(status.is_ready() && status.removed.is_empty(), "{status:?}");
    let _none = children(&client, &kinds).await.delete(&client).await.unwrap();
}

/// A controller without a relation to the kind: each reconcile asks anew.
#[tokio::test(start_paused = true)]
async fn a_reconcile_keeps_nothing_of_the_kind() {
    let (_server, client) = server();
    let kinds = owner_and_definition(&client).await;
    let status = apply(children(&client, &kinds).await, &client).await;
    assert!(matches!(status.children[0].state, ChildState::NotServed(Availability::Unknown(_))));
    assert_eq!(status.action(), Action::requeue(Duration::from_secs(60)));
    sleep(Duration::from_secs(60)).await;
    let status = apply(children(&client, &kinds).await, &client).await;
    assert_eq!(status.to_string(), "all 2 children are ready");
    assert!(is_there(&client).await);
}

/// The child in a version that the server does not have, although it has the kind.
#[tokio::test(start_paused = true)]
async fn the_kind_is_asked_for_in_the_version_and_scope_of_the_child() {
    let (_server, client) = server();
    let kinds = owner_and_definition(&client).await;
    let of_version = |version| {
        ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk("example.com", version, "Leaf"), "leaves")
    };
    let mut states = Vec::new();
    for version in ["v2", "v1"] {
        let resource = of_version(version);
        for _ in 0..2 {
            let owner = newest(&client).await;
            let mut children = Children::of(SET, &owner);
            let leaf = DynamicObject::new("leaf", &resource).data(json!({ "spec": {} }));
            children.add_with("leaf", &leaf, &resource).if_served(&kinds);
            let status = children.apply(&client).await.unwrap();
            states.push(format!("{:?}", status.children[0].state));
            sleep(Duration::from_secs(60)).await;
        }
    }
    assert!(states[0].contains("Unknown"), "{states:?}");
    assert!(states[1].contains("Mismatch") && states[1].contains("this program knows v2"), "{states:?}");
    assert_eq!(states[3], "Ready");
}

/// A program that starts while discovery fails, or the group alone cannot be looked up.
#[tokio::test(start_paused = true)]
async fn a_child_stays_if_nothing_is_known_of_its_kind() {
    let (server, client) = server();
    let kinds = owner_and_definition(&client).await;
    let _kind = known(&kinds).await;
    drop(apply(children(&client, &kinds).await, &client).await);

    // The next program, whose requests for children work again before discovery does.
    let blind = failing(&server, |_, path| path == "/apis" || path.starts_with("/apis/example.com/v1"));
    let kinds = ServedKinds::new(blind);
    let mut kind = kinds.kind::<Leaf>();
    assert!(timeout(Duration::from_secs(60), kind.next()).await.is_err());
    for _ in 0..2 {
        let mut children = children(&client, &kinds).await;
        children.add("secret", &secret("secret"));
        let status = apply(children, &client).await;
        assert!(matches!(status.children[0].state, ChildState::NotServed(Availability::Unknown(_))));
        assert_eq!((status.is_ready(), status.reason()), (false, "ChildrenNotReady"));
        assert_eq!(status.action(), Action::requeue(Duration::from_secs(60)));
        assert_eq!(
            status.to_string(),
            "leaf (Leaf leaf in namespace default) is left alone: the server has not said yet which kinds it serves; map waits for leaf"
        );
        assert!(is_there(&client).await);
    }
    while children(&client, &kinds).await.delete(&client).await.is_err() {
        sleep(Duration::from_secs(1)).await;
    }
    assert!(!is_there(&client).await, "the clean-up looks for it");
}

/// Serves leaves as v2 only, or as v1 too.
async fn serve_v1(client: &Client, is_served: bool) {
    let definitions = Definitions::all(client.clone());
    let mut both = definitions.get(Leaf::crd_name()).await.unwrap();
    if both.spec.versions.len() == 1 {
        let mut v2 = both.spec.versions[0].clone();
        (v2.name, v2.storage) = ("v2".into(), true);
        both.spec.versions[0].storage = false;
        both.spec.versions.push(v2);
    }
    both.spec.versions[0].served = is_served;
    definitions.replace(Leaf::crd_name(), &PostParams::default(), &both).await.unwrap();
}

/// An owner with a leaf, whose kind is served in another version only since.
async fn with_mismatch(client: &Client) -> (ServedKinds, ServedKind) {
    let kinds = owner_and_definition(client).await;
    let mut kind = known(&kinds).await;
    let mut first = children(client, &kinds).await;
    first.add("secret", &secret("secret"));
    first.add("old", &Leaf::new("old", LeafSpec {}));
    drop(apply(first, client).await);
    serve_v1(client, false).await;
    assert!(matches!(kind.next().await, Availability::Mismatch(_)));
    (kinds, kind)
}

#[tokio::test(start_paused = true)]
async fn a_child_stays_if_its_kind_is_served_in_another_version_only() {
    let (_server, client) = server();
    let (kinds, _kind) = with_mismatch(&client).await;
    let status = apply(children(&client, &kinds).await, &client).await;
    let left_alone = "leaf (Leaf leaf in namespace default) is left alone: the server serves it in v2 only, this program knows v1";
    assert!(status.to_string().starts_with(&format!("{left_alone}; map waits for leaf")), "{status}");
    assert!(!status.is_ready(), "what is there is not as wanted");
    assert_eq!(status.action(), Action::requeue(Duration::from_secs(60)));
    assert!(secrets(&client).get_opt("secret").await.unwrap().is_some(), "map may replace it");
    serve_v1(&client, true).await;
    assert!(is_there(&client).await);
}

#[tokio::test(start_paused = true)]
async fn what_a_mismatch_cannot_replace_is_deleted() {
    let (_server, client) = server();
    let (kinds, mut kind) = with_mismatch(&client).await;
    let wanted = async || {
        let owner = newest(&client).await;
        let mut children = Children::of(SET, &owner);
        children.add("leaf", &Leaf::new("leaf", LeafSpec {})).if_served(&kinds);
        children
    };
    let status = apply(wanted().await, &client).await;
    let (mut gone, mut waiting) = (Vec::new(), Vec::new());
    for RemovedChild { object, state, .. } in &status.removed {
        match state {
            RemovalState::Gone => gone.push(object.as_str()),
            RemovalState::Waiting(_) => waiting.push(object.as_str()),
            other => panic!("{object}: {other:?}"),
        }
    }
    assert_eq!(gone, ["ConfigMap map in namespace default", "Secret secret in namespace default"]);
    assert_eq!(waiting, ["Leaf old in namespace default"], "the leaf that is wanted may replace it");
    assert_eq!(recorded(&newest(&client).await), "Leaf.example.com/default");
    assert_eq!(status.action(), Action::requeue(Duration::from_secs(60)));
    serve_v1(&client, true).await;
    kind.next().await;
    drop(apply(wanted().await, &client).await);
    let old = async || Leaves::default_namespaced(client.clone()).get_opt("old").await.unwrap();
    let gone = async {
        while old().await.is_some() {
            sleep(Duration::from_secs(1)).await
        }
    };
    timeout(Duration::from_secs(60), gone).await.unwrap();
    assert!(is_there(&client).await);
}

#[tokio::test(start_paused = true)]
async fn where_there_may_be_a_child_is_recorded() {
    let (_server, client) = server();
    let (kinds, _kind) = with_mismatch(&client).await;
    let lost = Patch::Merge(json!({ "metadata": { "annotations": { "site-operator/children": null } } }));
    sites(&client).patch("site", &PatchParams::default(), &lost).await.unwrap();
    drop(apply(children(&client, &kinds).await, &client).await);
    assert!(recorded(&newest(&client).await).contains("Leaf.example.com/default"));
    // A later release has no leaves.
    let owner = newest(&client).await;
    let mut children = Children::of(SET, &owner);
    children.add("map", &map("map", "a"));
    drop(apply(children, &client).await);
    serve_v1(&client, true).await;
    sleep(Duration::from_secs(15)).await;
    assert!(!is_there(&client).await);
}

#[tokio::test(start_paused = true)]
async fn a_recorded_kind_that_is_missing_costs_no_request() {
    let (server, client) = server();
    let kinds = owner_and_definition(&client).await;
    let mut kind = known(&kinds).await;
    drop(apply(children(&client, &kinds).await, &client).await);
    undefine(&client).await;
    assert!(matches!(kind.next().await, Availability::Missing(_)));
    let without_it = failing(&server, |_, path| path == "/apis" || path.contains("example.com"));
    let status = apply(children(&client, &kinds).await, &without_it).await;
    assert_eq!(status.to_string(), "the child is ready");
    assert!(recorded(&newest(&client).await).contains("Leaf"), "it may come back");
}
