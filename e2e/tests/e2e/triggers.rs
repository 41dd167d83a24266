//! Reconciles triggered by external streams, and the concurrency limit.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::{FutureExt as _, StreamExt as _, channel::mpsc};
use kube::ResourceExt as _;
use kube::api::PostParams;
use kube::runtime::controller::{Action, Config, Controller};
use kube::runtime::reflector::ObjectRef;
use kube::runtime::watcher;

use crate::test_env::{Requires, run};
use crate::widget::{Widget, widget};

const TIMEOUT: Duration = Duration::from_secs(15);

#[test]
fn triggers_reconcile_one_object_or_all() -> anyhow::Result<()> {
    run(Requires::CustomResources, |env| {
        async move {
            let api = env.api::<Widget>();
            for name in ["a", "b", "c"] {
                api.create(&PostParams::default(), &widget(name, 1)).await?;
            }
            let (one, one_triggers) = mpsc::unbounded();
            let (all, all_triggers) = mpsc::unbounded();
            let (send, mut names) = mpsc::unbounded();
            let output = Controller::new(api, watcher::Config::default())
                .reconcile_on(one_triggers)
                .reconcile_all_on(all_triggers)
                .run(
                    |object: Arc<Widget>, send: Arc<mpsc::UnboundedSender<String>>| async move {
                        let _ = send.unbounded_send(object.name_any());
                        Ok::<_, Infallible>(Action::await_change())
                    },
                    |_, _, _| Action::await_change(),
                    Arc::new(send),
                );
            let running = tokio::spawn(output.for_each(|_| async {}));
            let mut next_three = async || {
                let mut names: Vec<_> =
                    tokio::time::timeout(TIMEOUT, names.by_ref().take(3).collect::<Vec<_>>()).await?;
                names.sort();
                anyhow::Ok(names)
            };
            assert_eq!(next_three().await?, ["a", "b", "c"]);
            all.unbounded_send(())?;
            assert_eq!(next_three().await?, ["a", "b", "c"]);
            one.unbounded_send(ObjectRef::new("b").within(&env.namespace))?;
            let next = tokio::time::timeout(TIMEOUT, names.next()).await?;
            assert_eq!(next.as_deref(), Some("b"));
            running.abort();
            Ok(())
        }
        .boxed()
    })
}

#[test]
fn concurrency_never_exceeds_the_limit() -> anyhow::Result<()> {
    run(Requires::CustomResources, |env| {
        async move {
            #[derive(Default)]
            struct Load([AtomicUsize; 3]);
            let api = env.api::<Widget>();
            for n in 0..12 {
                api.create(&PostParams::default(), &widget(&format!("n-{n}"), n)).await?;
            }
            let load = Arc::new(Load::default());
            let config = Config::default().concurrency(3);
            let output = Controller::new(api, watcher::Config::default()).with_config(config).run(
                |_, load: Arc<Load>| async move {
                    let [now, peak, done] = &load.0;
                    peak.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    now.fetch_sub(1, Ordering::SeqCst);
                    done.fetch_add(1, Ordering::SeqCst);
                    Ok::<_, Infallible>(Action::await_change())
                },
                |_, _, _| Action::await_change(),
                load.clone(),
            );
            let running = tokio::spawn(output.for_each(|_| async {}));
            let all = async {
                while load.0[2].load(Ordering::SeqCst) < 12 {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
            };
            tokio::time::timeout(TIMEOUT, all).await?;
            assert_eq!(load.0[1].load(Ordering::SeqCst), 3);
            running.abort();
            Ok(())
        }
        .boxed()
    })
}
