//! Changed objects are reconciled before those of the initial list.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use futures::{FutureExt as _, StreamExt as _};
use kube::api::{Patch, PatchParams, PostParams};
use kube::runtime::controller::{Action, Config, Controller};
use kube::runtime::watcher;
use serde_json::json;

use crate::test_env::{Requires, run};
use crate::widget::{Widget, widget};

/// Objects of the initial list. Each reconcile takes longer than a change needs to arrive.
const INITIAL: i64 = 40;

#[test]
fn a_change_is_reconciled_before_initial_objects() -> anyhow::Result<()> {
    run(Requires::CustomResources, |env| {
        async move {
            let api = env.api::<Widget>();
            for size in 0..INITIAL {
                api.create(&PostParams::default(), &widget(&format!("initial-{size}"), size)).await?;
            }
            let output = Controller::new(api.clone(), watcher::Config::default())
                .with_config(Config::default().concurrency(1))
                .run(
                    async |_, _| {
                        tokio::time::sleep(Duration::from_millis(250)).await;
                        Ok::<_, Infallible>(Action::await_change())
                    },
                    |_: Arc<Widget>, error, _| match *error {},
                    Arc::new(()),
                );
            let mut done = output.boxed();
            let mut next = async || -> anyhow::Result<String> {
                let item = tokio::time::timeout(Duration::from_secs(20), done.next()).await?;
                Ok(item.context("the controller has ended")??.0.name)
            };
            let first = next().await?;
            let changed = if first == "initial-20" { "initial-21" } else { "initial-20" };
            let change = Patch::Merge(json!({ "spec": { "size": 1000 } }));
            api.patch(changed, &PatchParams::default(), &change).await?;
            api.create(&PostParams::default(), &widget("new", 1)).await?;
            // A few initial objects run before the changes arrive, and every eighth start is reserved for them.
            let mut order = Vec::new();
            while order.len() < 20 {
                order.push(next().await?);
            }
            for name in [changed, "new"] {
                let position = order.iter().position(|it| it == name);
                assert!(position.is_some_and(|position| position < 12), "{name} in {order:?}");
            }
            Ok(())
        }
        .boxed()
    })
}
