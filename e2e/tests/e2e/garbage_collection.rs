//! Garbage collection by owner references.

use std::time::Duration;

use futures::FutureExt as _;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DeleteParams, ObjectMeta, PostParams};
use kube::runtime::wait::await_condition;
use kube::{Api, Resource as _, ResourceExt as _};

use crate::test_env::{Requires, TestEnv, run};
use crate::widget::{Widget, widget};

const TIMEOUT: Duration = Duration::from_secs(30);

/// How long a genuine garbage collector needs to observe an object: usually, and on a busy server where definitions come and go: it
/// looks for kinds every 30 s, and observes nothing until it watches the new ones.
const OBSERVED: [Duration; 2] = [Duration::from_secs(3), Duration::from_secs(40)];

/// Creates a widget `parent` that owns a ConfigMap `child`.
async fn owner_and_child(env: &TestEnv, observed: Duration) -> anyhow::Result<(Widget, Api<ConfigMap>)> {
    let parent = env.api::<Widget>().create(&PostParams::default(), &widget("parent", 1)).await?;
    let children = env.api::<ConfigMap>();
    let child = ConfigMap {
        metadata: ObjectMeta {
            name: Some("child".into()),
            owner_references: parent.controller_owner_ref(&()).map(|owner| vec![owner]),
            ..ObjectMeta::default()
        },
        ..ConfigMap::default()
    };
    children.create(&PostParams::default(), &child).await?;
    if env.server.is_none() {
        // A genuine garbage collector must observe the child before the owner is deleted.
        tokio::time::sleep(observed).await;
    }
    Ok((parent, children))
}

#[test]
fn background_deletion_collects_the_owned_object() -> anyhow::Result<()> {
    run(Requires::CoreKinds, |env| {
        async move {
            let (_, children) = owner_and_child(env, OBSERVED[0]).await?;
            env.api::<Widget>().delete("parent", &DeleteParams::background()).await?;
            let gone = await_condition(children, "child", |child: Option<&ConfigMap>| child.is_none());
            tokio::time::timeout(TIMEOUT, gone).await??;
            Ok(())
        }
        .boxed()
    })
}

#[test]
fn foreground_deletion_removes_the_owner_last() -> anyhow::Result<()> {
    run(Requires::CoreKinds, |env| {
        async move {
            for observed in OBSERVED {
                let (parent, children) = owner_and_child(env, observed).await?;
                let parents = env.api::<Widget>();
                parents.delete("parent", &DeleteParams::foreground()).await?;
                let uid = parent.uid().unwrap_or_default();
                let gone = await_condition(parents, "parent", kube::runtime::conditions::is_deleted(&uid));
                tokio::time::timeout(TIMEOUT, gone).await??;
                if children.get_opt("child").await?.is_none() {
                    return Ok(());
                }
                anyhow::ensure!(env.server.is_none(), "the owner is deleted after what it owns");
                // The garbage collector had not observed the child.
                let gone = await_condition(children, "child", |child: Option<&ConfigMap>| child.is_none());
                tokio::time::timeout(TIMEOUT, gone).await??;
            }
            anyhow::bail!("the owner is deleted after what it owns")
        }
        .boxed()
    })
}

#[test]
fn orphan_deletion_keeps_the_owned_object() -> anyhow::Result<()> {
    run(Requires::CoreKinds, |env| {
        async move {
            let (parent, children) = owner_and_child(env, OBSERVED[0]).await?;
            let parents = env.api::<Widget>();
            parents.delete("parent", &DeleteParams::orphan()).await?;
            let uid = parent.uid().unwrap_or_default();
            let gone = await_condition(parents, "parent", kube::runtime::conditions::is_deleted(&uid));
            tokio::time::timeout(TIMEOUT, gone).await??;
            assert!(children.get("child").await?.owner_references().is_empty());
            Ok(())
        }
        .boxed()
    })
}
