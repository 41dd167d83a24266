//! What changed comes before what was there.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use futures::{FutureExt as _, StreamExt as _};
use kube::api::{Patch, PatchParams, PostParams};
use kube::runtime::controller::{Action, Config, Controller};
use kube::runtime::watcher;
use serde_json::json;

use crate::widget::{Widget, widget};
use crate::world::{Need, run};

/// How many are there at the start, each for as long as it takes to see a change arrive.
const OLD: i64 = 40;

#[test]
fn a_change_overtakes_what_was_there_at_the_start() -> anyhow::Result<()> {
    run(Need::Nothing, |world| {
        async move {
            let api = world.api::<Widget>();
            for size in 0..OLD {
                api.create(&PostParams::default(), &widget(&format!("old-{size}"), size)).await?;
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
            let changed = if first == "old-20" { "old-21" } else { "old-20" };
            let change = Patch::Merge(json!({ "spec": { "size": 1000 } }));
            api.patch(changed, &PatchParams::default(), &change).await?;
            api.create(&PostParams::default(), &widget("new", 1)).await?;
            // The one that runs, a few while the changes are on their way, and every eighth start is for the rest.
            let mut order = Vec::new();
            while order.len() < 20 {
                order.push(next().await?);
            }
            for name in [changed, "new"] {
                let place = order.iter().position(|it| it == name);
                assert!(place.is_some_and(|place| place < 12), "{name} in {order:?}");
            }
            Ok(())
        }
        .boxed()
    })
}
