//! Garbage collection by owner references.

use std::time::Duration;

use futures::FutureExt as _;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DeleteParams, ObjectMeta, PostParams};
use kube::runtime::wait::await_condition;
use kube::{Api, Resource as _, ResourceExt as _};

use crate::widget::{Widget, widget};
use crate::world::{Need, World, run};

const PATIENCE: Duration = Duration::from_secs(30);

async fn family(world: &World) -> anyhow::Result<(Widget, Api<ConfigMap>)> {
    let parent = world.api::<Widget>().create(&PostParams::default(), &widget("parent", 1)).await?;
    let children = world.api::<ConfigMap>();
    let child = ConfigMap {
        metadata: ObjectMeta {
            name: Some("child".into()),
            owner_references: parent.controller_owner_ref(&()).map(|owner| vec![owner]),
            ..ObjectMeta::default()
        },
        ..ConfigMap::default()
    };
    children.create(&PostParams::default(), &child).await?;
    if world.server.is_none() {
        // A genuine collector learns of objects by watching, and treats an owner whose children it has not seen yet as childless.
        tokio::time::sleep(Duration::from_secs(3)).await;
    }
    Ok((parent, children))
}

#[test]
fn an_owned_object_goes_with_its_owner() -> anyhow::Result<()> {
    run(Need::CoreKinds, |world| {
        async move {
            let (_, children) = family(world).await?;
            world.api::<Widget>().delete("parent", &DeleteParams::background()).await?;
            let gone = await_condition(children, "child", |child: Option<&ConfigMap>| child.is_none());
            tokio::time::timeout(PATIENCE, gone).await??;
            Ok(())
        }
        .boxed()
    })
}

#[test]
fn in_the_foreground_the_owner_goes_last() -> anyhow::Result<()> {
    run(Need::CoreKinds, |world| {
        async move {
            let (parent, children) = family(world).await?;
            let parents = world.api::<Widget>();
            parents.delete("parent", &DeleteParams::foreground()).await?;
            let uid = parent.uid().unwrap_or_default();
            let gone = await_condition(parents, "parent", kube::runtime::conditions::is_deleted(&uid));
            tokio::time::timeout(PATIENCE, gone).await??;
            assert!(children.get_opt("child").await?.is_none(), "the owner waits for what it owns");
            Ok(())
        }
        .boxed()
    })
}

#[test]
fn an_orphan_outlives_its_owner() -> anyhow::Result<()> {
    run(Need::CoreKinds, |world| {
        async move {
            let (parent, children) = family(world).await?;
            let parents = world.api::<Widget>();
            parents.delete("parent", &DeleteParams::orphan()).await?;
            let uid = parent.uid().unwrap_or_default();
            let gone = await_condition(parents, "parent", kube::runtime::conditions::is_deleted(&uid));
            tokio::time::timeout(PATIENCE, gone).await??;
            assert!(children.get("child").await?.owner_references().is_empty());
            Ok(())
        }
        .boxed()
    })
}
