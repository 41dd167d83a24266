//! Read your writes: a reconcile sees what the previous one wrote, even if many triggers arrive in between.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::{FutureExt as _, StreamExt as _, stream};
use kube::api::{Patch, PatchParams, PostParams};
use kube::runtime::controller::{Action, Controller};
use kube::runtime::reflector::ObjectRef;
use kube::runtime::watcher;
use kube::{Api, ResourceExt as _};
use serde_json::json;

use crate::test_env::{Requires, run};
use crate::widget::{Widget, widget};

const WRITES: i64 = 40;

struct Context {
    api: Api<Widget>,
    seen: Mutex<Vec<i64>>,
}

/// Increments the size of the object.
async fn reconcile(object: Arc<Widget>, context: Arc<Context>) -> Result<Action, kube::Error> {
    let size = object.spec.size;
    context.seen.lock().expect("no holder panics").push(size);
    if size >= WRITES {
        return Ok(Action::await_change());
    }
    let patch = Patch::Merge(json!({ "spec": { "size": size + 1 } }));
    let written = context.api.patch(&object.name_any(), &PatchParams::default(), &patch).await?;
    Ok(Action::requeue(Duration::ZERO).after_write(&written))
}

#[test]
fn each_reconcile_sees_the_write_of_the_previous_one() -> anyhow::Result<()> {
    run(Requires::CustomResources, |env| {
        async move {
            let api = env.api::<Widget>();
            let context = Arc::new(Context { api: api.clone(), seen: Mutex::default() });
            let object = ObjectRef::<Widget>::new("counted").within(&env.namespace);
            // Constant triggers: only the wait for the write keeps the next reconcile from seeing an old state.
            let triggers = stream::unfold((), move |()| {
                let object = object.clone();
                async move {
                    tokio::time::sleep(Duration::from_micros(200)).await;
                    Some((object, ()))
                }
            });
            api.create(&PostParams::default(), &widget("counted", 0)).await?;
            let output = Controller::new(api.clone(), watcher::Config::default()).reconcile_on(triggers).run(
                reconcile,
                |_, _: &kube::Error, _| Action::retry(),
                context.clone(),
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
            let seen = context.seen.lock().expect("no holder panics").clone();
            let expected: Vec<_> = (0..WRITES).collect();
            assert_eq!(seen[..expected.len()], expected, "each size is seen exactly once, in order");
            Ok::<_, anyhow::Error>(())
        }
        .boxed()
    })
}
