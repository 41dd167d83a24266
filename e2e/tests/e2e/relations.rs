//! Related objects that trigger a reconcile: they change, move to another owner or are deleted.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use futures::{FutureExt as _, StreamExt as _};
use kube::ResourceExt as _;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::runtime::controller::{Action, Controller};
use kube::runtime::reflector::{self, ObjectRef};
use kube::runtime::{WatchStreamExt as _, watcher};
use serde_json::json;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::test_env::{Requires, TestEnv, run};
use crate::widget::{Widget, widget};

/// Sends the name of each reconciled object.
async fn reconcile(object: Arc<Widget>, names: Arc<UnboundedSender<String>>) -> Result<Action, Infallible> {
    let _ = names.send(object.name_any());
    Ok(Action::await_change())
}

fn never(_: Arc<Widget>, error: &Infallible, _: Arc<UnboundedSender<String>>) -> Action {
    match *error {}
}

fn role(role: &str) -> watcher::Config {
    watcher::Config::default().labels(&format!("role={role}"))
}

fn labelled(name: &str, labels: &[(&str, &str)]) -> Widget {
    let mut object = widget(name, 1);
    let labels = labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    *object.labels_mut() = labels.collect();
    object
}

async fn next(names: &mut UnboundedReceiver<String>) -> anyhow::Result<String> {
    let name = tokio::time::timeout(Duration::from_secs(15), names.recv()).await?;
    name.ok_or_else(|| anyhow::anyhow!("the controller has ended"))
}

/// The names received until 400 ms pass without one.
async fn drain(names: &mut UnboundedReceiver<String>) -> Vec<String> {
    let mut drained = Vec::new();
    while let Ok(Some(name)) = tokio::time::timeout(Duration::from_millis(400), names.recv()).await {
        drained.push(name);
    }
    drained
}

async fn create_two_mains(env: &TestEnv) -> anyhow::Result<()> {
    for name in ["a", "b"] {
        env.api().create(&PostParams::default(), &labelled(name, &[("role", "main")])).await?;
    }
    Ok(())
}

#[test]
fn a_mapper_triggers_on_creation_change_move_and_deletion() -> anyhow::Result<()> {
    run(Requires::CustomResources, |env| {
        async move {
            let api = env.api::<Widget>();
            create_two_mains(env).await?;
            let (send, mut names) = unbounded_channel();
            let namespace = env.namespace.clone();
            let output = Controller::new(api.clone(), role("main"))
                .watches(api.clone(), role("child"), move |child: Widget| {
                    child.labels().get("for").map(|name| ObjectRef::new(name).within(&namespace))
                })
                .run(reconcile, never, Arc::new(send));
            let running = tokio::spawn(output.for_each(|_| async {}));
            let mut first = next_n(&mut names, 2).await?;
            first.sort();
            assert_eq!(first, ["a", "b"]);

            let child = labelled("child", &[("role", "child"), ("for", "a")]);
            api.create(&PostParams::default(), &child).await?;
            assert_eq!(next(&mut names).await?, "a");
            let change = Patch::Merge(json!({ "spec": { "size": 2 } }));
            api.patch("child", &PatchParams::default(), &change).await?;
            assert_eq!(next(&mut names).await?, "a");
            let moved = Patch::Merge(json!({ "metadata": { "labels": { "for": "b" } } }));
            api.patch("child", &PatchParams::default(), &moved).await?;
            let mut both = next_n(&mut names, 2).await?;
            both.sort();
            assert_eq!(both, ["a", "b"], "the previous owner is reconciled as well");
            api.delete("child", &DeleteParams::default()).await?;
            assert_eq!(next(&mut names).await?, "b");
            assert_eq!(drain(&mut names).await, [""; 0]);
            running.abort();
            Ok(())
        }
        .boxed()
    })
}

async fn next_n(names: &mut UnboundedReceiver<String>, count: usize) -> anyhow::Result<Vec<String>> {
    let mut drained = Vec::new();
    while drained.len() < count {
        drained.push(next(names).await?);
    }
    Ok(drained)
}

#[test]
fn an_owner_is_reconciled_when_its_child_changes() -> anyhow::Result<()> {
    run(Requires::CustomResources, |env| {
        async move {
            let api = env.api::<Widget>();
            create_two_mains(env).await?;
            let (send, mut names) = unbounded_channel();
            let output = Controller::new(api.clone(), role("main")).owns(api.clone(), role("child")).run(
                reconcile,
                never,
                Arc::new(send),
            );
            let running = tokio::spawn(output.for_each(|_| async {}));
            next_n(&mut names, 2).await?;
            let owner = api.get("a").await?;
            let mut child = labelled("child", &[("role", "child")]);
            child.metadata.owner_references =
                kube::Resource::controller_owner_ref(&owner, &()).map(|it| vec![it]);
            api.create(&PostParams::default(), &child).await?;
            assert_eq!(next(&mut names).await?, "a");
            api.delete("child", &DeleteParams::default()).await?;
            assert_eq!(next(&mut names).await?, "a");
            assert_eq!(drain(&mut names).await, [""; 0], "the other object is not triggered");
            running.abort();
            Ok(())
        }
        .boxed()
    })
}

#[test]
fn two_controllers_share_one_watch() -> anyhow::Result<()> {
    run(Requires::CustomResources, |env| {
        async move {
            let api = env.api::<Widget>();
            create_two_mains(env).await?;
            let (reader, writer) = reflector::store_shared(16);
            let watch = watcher(api.clone(), role("main")).default_backoff().reflect_shared(writer);
            let mut listeners = Vec::new();
            let mut tasks = Vec::new();
            for _ in 0..2 {
                let objects = reader.subscribe().ok_or_else(|| anyhow::anyhow!("the store is shared"))?;
                let (send, names) = unbounded_channel();
                let output = Controller::for_shared_stream(objects, reader.clone()).run(
                    reconcile,
                    never,
                    Arc::new(send),
                );
                tasks.push(tokio::spawn(output.for_each(|_| async {})));
                listeners.push(names);
            }
            tasks.push(tokio::spawn(watch.for_each(|_| async {})));
            for names in &mut listeners {
                let mut initial = next_n(names, 2).await?;
                initial.sort();
                assert_eq!(initial, ["a", "b"]);
            }
            let change = Patch::Merge(json!({ "spec": { "size": 2 } }));
            api.patch("b", &PatchParams::default(), &change).await?;
            for names in &mut listeners {
                assert_eq!(next(names).await?, "b");
            }
            tasks.iter().for_each(|task| task.abort());
            Ok(())
        }
        .boxed()
    })
}
