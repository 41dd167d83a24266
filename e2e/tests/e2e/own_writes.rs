//! A reconcile sees what its predecessor wrote, however often it is asked for meanwhile.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::{FutureExt as _, StreamExt as _, stream};
use kube::api::{Patch, PatchParams, PostParams};
use kube::runtime::controller::{Action, Controller};
use kube::runtime::reflector::ObjectRef;
use kube::runtime::watcher;
use kube::{Api, ResourceExt as _};
use serde_json::json;

use crate::widget::{Widget, widget};
use crate::world::{Need, run};

const WRITES: i64 = 40;

struct Counting {
    api: Api<Widget>,
    seen: Mutex<Vec<i64>>,
}

async fn count(object: Arc<Widget>, counting: Arc<Counting>) -> Result<Action, kube::Error> {
    let size = object.spec.size;
    counting.seen.lock().expect("no holder panics").push(size);
    if size >= WRITES {
        return Ok(Action::await_change());
    }
    let patch = Patch::Merge(json!({ "spec": { "size": size + 1 } }));
    let written = counting.api.patch(&object.name_any(), &PatchParams::default(), &patch).await?;
    Ok(Action::requeue(Duration::ZERO).after_write(&written))
}

#[test]
fn every_write_is_seen_by_the_next_reconcile() -> anyhow::Result<()> {
    run(Need::Nothing, |world| {
        async move {
            let api = world.api::<Widget>();
            let counting = Arc::new(Counting { api: api.clone(), seen: Mutex::default() });
            let asked = ObjectRef::<Widget>::new("counted").within(&world.namespace);
            // Somebody asks for it all the time, so that nothing but the wait keeps a reconcile from an old state.
            let storm = stream::unfold((), move |()| {
                let asked = asked.clone();
                async move {
                    tokio::time::sleep(Duration::from_micros(200)).await;
                    Some((asked, ()))
                }
            });
            api.create(&PostParams::default(), &widget("counted", 0)).await?;
            let output = Controller::new(api.clone(), watcher::Config::default()).reconcile_on(storm).run(
                count,
                |_, _: &kube::Error, _| Action::retry(),
                counting.clone(),
            );
            let running = tokio::spawn(output.for_each(|_| async {}));
            tokio::time::timeout(Duration::from_secs(30), async {
                while api.get("counted").await?.spec.size < WRITES {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                anyhow::Ok(())
            })
            .await??;
            running.abort();
            let seen = counting.seen.lock().expect("no holder panics").clone();
            let expected: Vec<_> = (0..WRITES).collect();
            assert_eq!(seen[..expected.len()], expected, "none is repeated, none is skipped");
            Ok::<_, anyhow::Error>(())
        }
        .boxed()
    })
}
