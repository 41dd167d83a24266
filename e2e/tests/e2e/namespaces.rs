//! Several namespaces as one stream and one store.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use futures::channel::mpsc;
use futures::{FutureExt as _, StreamExt as _};
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{DeleteParams, PostParams};
use kube::runtime::controller::{Action, Controller};
use kube::runtime::{WatchStreamExt as _, reflector, watcher};
use kube::{Api, Resource as _, ResourceExt as _};

use crate::widget::{Widget, widget};
use crate::world::{Need, World, run, unique};

/// Makes a namespace where the server knows such a thing; elsewhere any name will do.
async fn namespace(world: &World) -> anyhow::Result<String> {
    let name = unique("e2e-more");
    let mut object = Namespace::default();
    object.metadata.name = Some(name.clone());
    match Api::all(world.client.clone()).create(&PostParams::default(), &object).await {
        Ok(_) => Ok(name),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(name),
        Err(error) => Err(error.into()),
    }
}

#[test]
fn are_watched_as_one_and_may_come_and_go() -> anyhow::Result<()> {
    run(Need::Nothing, |world| {
        async move {
            let spaces = [world.namespace.clone(), namespace(world).await?, namespace(world).await?];
            for (size, space) in (0..).zip(&spaces) {
                let api = Api::<Widget>::namespaced(world.client.clone(), space);
                api.create(&PostParams::default(), &widget("one", size)).await?;
            }
            let (store, writer) = reflector::store::<Widget>();
            let (change, changes) = mpsc::unbounded();
            let client = world.client.clone();
            let stream = reflector::reflect_namespaces(writer, changes, move |space| {
                let api = Api::namespaced(client.clone(), space);
                watcher(api, watcher::Config::default()).default_backoff()
            });
            let driver = tokio::spawn(stream.for_each(|_| async {}));
            let shows = async |expected: &[&String]| {
                let expected: BTreeSet<_> = expected.iter().map(|it| Some((*it).clone())).collect();
                let shown = || store.state().iter().map(|it| it.namespace()).collect::<BTreeSet<_>>();
                tokio::time::timeout(Duration::from_secs(10), async {
                    while shown() != expected {
                        tokio::time::sleep(Duration::from_millis(10)).await;
                    }
                })
                .await
            };
            change.unbounded_send(vec![spaces[0].clone(), spaces[1].clone()])?;
            tokio::time::timeout(Duration::from_secs(10), store.wait_until_ready()).await??;
            assert_eq!(store.len(), 2, "complete at once, or not at all");
            change.unbounded_send(spaces.to_vec())?;
            shows(&spaces.each_ref()).await?;
            let api = Api::<Widget>::namespaced(world.client.clone(), &spaces[1]);
            api.delete("one", &DeleteParams::default()).await?;
            shows(&[&spaces[0], &spaces[2]]).await?;
            change.unbounded_send(spaces[1..].to_vec())?;
            shows(&[&spaces[2]]).await?;
            driver.abort();
            for space in &spaces[1..] {
                Api::<Widget>::namespaced(world.client.clone(), space)
                    .delete_collection(&DeleteParams::default(), &Default::default())
                    .await?;
                let spaces: Api<Namespace> = Api::all(world.client.clone());
                spaces.delete(space, &DeleteParams::background()).await.ok(); // not where there are none
            }
            Ok(())
        }
        .boxed()
    })
}

#[test]
fn one_controller_works_in_two_of_three() -> anyhow::Result<()> {
    run(Need::Nothing, |world| {
        async move {
            let spaces = [world.namespace.clone(), namespace(world).await?, namespace(world).await?];
            let widgets = |space: &str| Api::<Widget>::namespaced(world.client.clone(), space);
            for space in &spaces {
                widgets(space).create(&PostParams::default(), &widget("one", 1)).await?;
            }
            let (watched, main) = (&spaces[..2], watcher::Config::default().labels("!child"));
            let output = Controller::<Widget>::for_namespaces(world.client.clone(), watched, main)
                .owns_in_namespaces::<Widget>(
                    world.client.clone(),
                    watched,
                    watcher::Config::default().labels("child"),
                )
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
            for space in [&spaces[2], &spaces[1]] {
                let owner = widgets(space).get("one").await?;
                let mut child = widget("child", 1);
                child.labels_mut().insert("child".to_owned(), "yes".to_owned());
                child.owner_references_mut().extend(owner.controller_owner_ref(&()));
                widgets(space).create(&PostParams::default(), &child).await?;
            }
            assert_eq!(next().await?, spaces[1], "and nothing of the third");
            for space in &spaces[1..] {
                widgets(space).delete_collection(&DeleteParams::default(), &Default::default()).await?;
                let spaces: Api<Namespace> = Api::all(world.client.clone());
                spaces.delete(space, &DeleteParams::background()).await.ok(); // not where there are none
            }
            Ok(())
        }
        .boxed()
    })
}
