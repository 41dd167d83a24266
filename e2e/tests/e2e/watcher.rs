//! The watcher: initial list in pages or streamed, then watches.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use futures::{FutureExt as _, Stream, TryStreamExt as _, pin_mut};
use kube::ResourceExt as _;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::runtime::watcher::{Config, Event};
use kube::runtime::{Controller, WatchStreamExt as _, controller::Action, watcher};
use serde_json::json;

use crate::test_env::{Requires, TestEnv, run};
use crate::widget::{Widget, widget};

async fn next<T, E: std::error::Error + Send + Sync + 'static>(
    stream: &mut (impl Stream<Item = Result<T, E>> + Unpin),
) -> anyhow::Result<T> {
    let item = tokio::time::timeout(Duration::from_secs(10), stream.try_next()).await??;
    item.ok_or_else(|| anyhow::anyhow!("the watcher ended"))
}

fn label(event: &Event<Widget>) -> String {
    match event {
        Event::Init => "init".into(),
        Event::InitApply(object) => format!("init-apply {}", object.name_any()),
        Event::InitDone => "init-done".into(),
        Event::Apply(object) => format!("apply {} {}", object.name_any(), object.spec.size),
        Event::Delete(object) => format!("delete {}", object.name_any()),
    }
}

async fn lists_then_watches(env: &TestEnv, config: Config) -> anyhow::Result<()> {
    let api = env.api::<Widget>();
    for name in ["a", "b", "c"] {
        api.create(&PostParams::default(), &widget(name, 1)).await?;
    }
    let stream = watcher(api.clone(), config).default_backoff();
    pin_mut!(stream);
    let mut initial = Vec::new();
    while initial.last().map(String::as_str) != Some("init-done") {
        initial.push(label(&next(&mut stream).await?));
    }
    initial[1..4].sort();
    assert_eq!(initial, ["init", "init-apply a", "init-apply b", "init-apply c", "init-done"]);

    api.patch("a", &PatchParams::default(), &Patch::Merge(json!({ "spec": { "size": 2 } }))).await?;
    api.delete("b", &DeleteParams::default()).await?;
    api.create(&PostParams::default(), &widget("d", 4)).await?;
    for expected in ["apply a 2", "delete b", "apply d 4"] {
        assert_eq!(label(&next(&mut stream).await?), expected);
    }
    Ok(())
}

#[test]
fn a_watcher_lists_in_pages_then_watches() -> anyhow::Result<()> {
    run(Requires::CustomResources, |env| lists_then_watches(env, Config::default().page_size(2)).boxed())
}

#[test]
fn a_watcher_streams_the_list_then_watches() -> anyhow::Result<()> {
    run(Requires::StreamingLists, |env| lists_then_watches(env, Config::default().streaming_lists()).boxed())
}

/// Also on a server without streaming lists, as 1.20: the refusal is no error, and the kind is listed.
#[test]
fn a_controller_that_prefers_streaming_lists_works_on_every_server() -> anyhow::Result<()> {
    run(Requires::CustomResources, |env| {
        async move {
            let api = env.api::<Widget>();
            api.create(&PostParams::default(), &widget("a", 1)).await?;
            for _ in ["asks", "remembers"] {
                let controller = Controller::new(api.clone(), Config::default()).prefer_streaming_lists();
                let reconcile =
                    async |_: Arc<Widget>, _: Arc<()>| Ok::<_, Infallible>(Action::await_change());
                let output = controller.run(reconcile, |_, _, _| Action::await_change(), Arc::new(()));
                pin_mut!(output);
                assert_eq!(next(&mut output).await?.0.name, "a");
            }
            Ok(())
        }
        .boxed()
    })
}

#[test]
fn a_watcher_resumes_after_every_watch_timeout() -> anyhow::Result<()> {
    run(Requires::CustomResources, |env| {
        async move {
            let api = env.api::<Widget>();
            let stream =
                watcher(api.clone(), Config::default().timeout(1)).default_backoff().applied_objects();
            pin_mut!(stream);
            for round in 0..3 {
                let name = format!("round-{round}");
                api.create(&PostParams::default(), &widget(&name, round)).await?;
                assert_eq!(next(&mut stream).await?.name_any(), name);
                tokio::time::sleep(Duration::from_millis(1200)).await;
            }
            Ok(())
        }
        .boxed()
    })
}
