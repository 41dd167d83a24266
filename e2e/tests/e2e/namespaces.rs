//! Several namespaces in one stream and one store.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use futures::channel::mpsc;
use futures::{FutureExt as _, StreamExt as _};
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{DeleteParams, PostParams};
use kube::runtime::controller::{Action, Controller, Own, Related};
use kube::runtime::{WatchStreamExt as _, reflector, watcher};
use kube::{Api, Resource as _, ResourceExt as _};

use crate::test_env::{Requires, TestEnv, run, unique};
use crate::widget::{Widget, widget};

/// Creates a namespace. A server without core kinds accepts any namespace name.
async fn namespace(env: &TestEnv) -> anyhow::Result<String> {
    let name = unique("e2e-more");
    let mut object = Namespace::default();
    object.metadata.name = Some(name.clone());
    match Api::all(env.client.clone()).create(&PostParams::default(), &object).await {
        Ok(_) => Ok(name),
        Err(error) if error.is_not_found() => Ok(name),
        Err(error) => Err(error.into()),
    }
}

#[test]
fn reflected_namespaces_can_be_added_and_removed() -> anyhow::Result<()> {
    run(Requires::CustomResources, |env| {
        async move {
            let namespaces = [env.namespace.clone(), namespace(env).await?, namespace(env).await?];
            for (size, namespace) in (0..).zip(&namespaces) {
                let api = Api::<Widget>::namespaced(env.client.clone(), namespace);
                api.create(&PostParams::default(), &widget("one", size)).await?;
            }
            let (store, writer) = reflector::store::<Widget>();
            let (change, changes) = mpsc::unbounded();
            let client = env.client.clone();
            let stream = reflector::reflect_namespaces(writer, changes, move |namespace| {
                let api = Api::namespaced(client.clone(), namespace);
                watcher(api, watcher::Config::default()).default_backoff()
            });
            let driver = tokio::spawn(stream.for_each(|_| async {}));
            let wait_for = async |expected: &[&String]| {
                let expected: BTreeSet<_> = expected.iter().map(|it| Some((*it).clone())).collect();
                let cached = || store.state().iter().map(|it| it.namespace()).collect::<BTreeSet<_>>();
                tokio::time::timeout(Duration::from_secs(10), async {
                    while cached() != expected {
                        tokio::time::sleep(Duration::from_millis(10)).await;
                    }
                })
                .await
            };
            change.unbounded_send(vec![namespaces[0].clone(), namespaces[1].clone()])?;
            tokio::time::timeout(Duration::from_secs(10), store.wait_until_ready()).await??;
            assert_eq!(store.len(), 2, "ready means that the lists of all namespaces are complete");
            change.unbounded_send(namespaces.to_vec())?;
            wait_for(&namespaces.each_ref()).await?;
            let api = Api::<Widget>::namespaced(env.client.clone(), &namespaces[1]);
            api.delete("one", &DeleteParams::default()).await?;
            wait_for(&[&namespaces[0], &namespaces[2]]).await?;
            change.unbounded_send(namespaces[1..].to_vec())?;
            wait_for(&[&namespaces[2]]).await?;
            driver.abort();
            for namespace in &namespaces[1..] {
                Api::<Widget>::namespaced(env.client.clone(), namespace)
                    .delete_collection(&DeleteParams::default(), &Default::default())
                    .await?;
                let namespaces: Api<Namespace> = Api::all(env.client.clone());
                namespaces.delete(namespace, &DeleteParams::background()).await.ok(); // fails on servers without core kinds
            }
            Ok(())
        }
        .boxed()
    })
}

#[test]
fn a_controller_reconciles_only_its_configured_namespaces() -> anyhow::Result<()> {
    run(Requires::CustomResources, |env| {
        async move {
            let namespaces = [env.namespace.clone(), namespace(env).await?, namespace(env).await?];
            let widgets = |namespace: &str| Api::<Widget>::namespaced(env.client.clone(), namespace);
            for namespace in &namespaces {
                widgets(namespace).create(&PostParams::default(), &widget("one", 1)).await?;
            }
            let (watched, main) = (&namespaces[..2], watcher::Config::default().labels("!child"));
            let (all, children) =
                (Api::<Widget>::all(env.client.clone()), watcher::Config::default().labels("child"));
            let output = Controller::for_own(Own::api(all.clone(), main).namespaces(watched))
                .owns_related(Related::metadata(all, children).namespaces(watched))
                .run(
                    async |_, _| Ok::<_, Infallible>(Action::await_change()),
                    |_, error, _| match *error {},
                    Arc::new(()),
                );
            let mut done = output.boxed();
            let mut next = async || -> anyhow::Result<String> {
                let item = tokio::time::timeout(Duration::from_secs(15), done.next()).await?;
                let (object, _) = item.context("the controller has ended")??;
                object.namespace.context("widgets have a namespace")
            };
            let first = BTreeSet::from([next().await?, next().await?]);
            assert_eq!(first, watched.iter().cloned().collect());
            for namespace in [&namespaces[2], &namespaces[1]] {
                let owner = widgets(namespace).get("one").await?;
                let mut child = widget("child", 1);
                child.labels_mut().insert("child".to_owned(), "yes".to_owned());
                child.owner_references_mut().extend(owner.controller_owner_ref(&()));
                widgets(namespace).create(&PostParams::default(), &child).await?;
            }
            assert_eq!(next().await?, namespaces[1], "the third namespace triggers no reconcile");
            for namespace in &namespaces[1..] {
                widgets(namespace).delete_collection(&DeleteParams::default(), &Default::default()).await?;
                let namespaces: Api<Namespace> = Api::all(env.client.clone());
                namespaces.delete(namespace, &DeleteParams::background()).await.ok(); // fails on servers without core kinds
            }
            Ok(())
        }
        .boxed()
    })
}
