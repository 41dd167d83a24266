//! Children of kinds that come and go.

use crate::{
    children::{SET, apply, map, newest, owner, recorded, secret},
    common::server,
    layers::failing,
};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube_client::Client;
use kube_core::{
    CustomResourceExt,
    params::{DeleteParams, PostParams},
};
use kube_operator::children::{ChildState, Children};
use kube_runtime::served::{Availability, ServedKind, ServedKinds};
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

async fn is_there(client: &Client) -> bool {
    Leaves::default_namespaced(client.clone()).get_opt("leaf").await.unwrap().is_some()
}

/// A leaf if its kind is served, and a map after it.
async fn children(client: &Client, kind: &ServedKind) -> Children {
    let owner = newest(client).await;
    let mut children = Children::of(SET, &owner);
    children.add("leaf", &Leaf::new("leaf", LeafSpec {})).if_served(kind);
    children.add("map", &map("map", "a")).after("leaf");
    children
}

#[tokio::test(start_paused = true)]
async fn a_child_is_there_while_its_kind_is_and_the_others_go_on_without_it() {
    let (_server, client) = server();
    owner(&client).await;
    let mut kind = ServedKinds::new(client.clone()).kind::<Leaf>();
    kind.next().await;
    for round in 0..2 {
        let status = apply(children(&client, &kind).await, &client).await;
        assert!(matches!(status.children[0].state, ChildState::NotServed(Availability::Missing(_))));
        let is_recorded = recorded(&newest(&client).await).contains("Leaf");
        assert_eq!(is_recorded, round > 0, "not before something may be written");
        assert_eq!((status.is_ready(), status.to_string()), (true, "the child is ready".into()));

        define(&client, &Leaf::crd()).await;
        kind.next().await;
        let status = apply(children(&client, &kind).await, &client).await;
        assert_eq!((status.is_ready(), status.to_string()), (true, "all 2 children are ready".into()));
        assert!(is_there(&client).await);
        assert_eq!(recorded(&newest(&client).await), "ConfigMap/default,Leaf.example.com/default");

        undefine(&client).await;
        kind.next().await;
    }
    let status = apply(children(&client, &kind).await, &client).await;
    assert!(status.is_ready() && status.removed.is_empty(), "{status:?}");
    let _none = children(&client, &kind).await.delete(&client).await.unwrap();
}

/// A program that starts while discovery fails, or the group alone cannot be looked up.
#[tokio::test(start_paused = true)]
async fn a_child_stays_if_nothing_is_known_of_its_kind() {
    let (server, client) = server();
    owner(&client).await;
    define(&client, &Leaf::crd()).await;
    let mut kind = ServedKinds::new(client.clone()).kind::<Leaf>();
    kind.next().await;
    drop(apply(children(&client, &kind).await, &client).await);

    // The next program, whose requests for children work again before discovery does.
    let blind = failing(&server, |_, path| path == "/apis" || path.starts_with("/apis/example.com/v1"));
    let mut kind = ServedKinds::new(blind).kind::<Leaf>();
    assert!(timeout(Duration::from_secs(60), kind.next()).await.is_err());
    for _ in 0..2 {
        let mut children = children(&client, &kind).await;
        children.add("secret", &secret("secret"));
        let status = apply(children, &client).await;
        assert!(matches!(status.children[0].state, ChildState::NotServed(Availability::Unknown(_))));
        assert_eq!((status.is_ready(), status.reason()), (false, "ChildrenNotReady"));
        assert_eq!(
            status.to_string(),
            "leaf (Leaf leaf in namespace default) is left alone: the server has not said yet which kinds it serves; map waits for leaf"
        );
        assert!(is_there(&client).await);
    }
    while children(&client, &kind).await.delete(&client).await.is_err() {
        sleep(Duration::from_secs(1)).await;
    }
    assert!(!is_there(&client).await, "the clean-up looks for it");
}

#[tokio::test(start_paused = true)]
async fn a_child_stays_if_its_kind_is_served_in_another_version_only() {
    let (_server, client) = server();
    owner(&client).await;
    let mut both = Leaf::crd();
    let mut v2 = both.spec.versions[0].clone();
    (v2.name, v2.storage) = ("v2".into(), false);
    both.spec.versions.push(v2);
    define(&client, &both).await;
    let mut kind = ServedKinds::new(client.clone()).kind::<Leaf>();
    kind.next().await;
    drop(apply(children(&client, &kind).await, &client).await);

    let definitions = Definitions::all(client.clone());
    let mut v2 = definitions.get(Leaf::crd_name()).await.unwrap();
    (v2.spec.versions[0].served, v2.spec.versions[0].storage, v2.spec.versions[1].storage) =
        (false, false, true);
    definitions.replace(Leaf::crd_name(), &PostParams::default(), &v2).await.unwrap();
    assert!(matches!(kind.next().await, Availability::Mismatch(_)));
    let status = apply(children(&client, &kind).await, &client).await;
    assert_eq!(
        status.to_string(),
        "leaf (Leaf leaf in namespace default) is left alone: the server serves it in v2 only, this program knows v1; map waits for leaf"
    );
    assert!(status.removed.is_empty(), "{status:?}");
    let mut v2 = definitions.get(Leaf::crd_name()).await.unwrap();
    v2.spec.versions[0].served = true;
    definitions.replace(Leaf::crd_name(), &PostParams::default(), &v2).await.unwrap();
    assert!(is_there(&client).await);
}
