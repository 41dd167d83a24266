//! The reflector keeps a store equal to the server.

use std::time::Duration;

use futures::{FutureExt as _, StreamExt as _};
use kube::ResourceExt as _;
use kube::api::{DeleteParams, PostParams};
use kube::runtime::reflector::{self, ObjectRef};
use kube::runtime::{WatchStreamExt as _, watcher};

use crate::test_env::{Requires, run};
use crate::widget::{Widget, widget};

#[test]
fn a_store_follows_the_server() -> anyhow::Result<()> {
    run(Requires::CustomResources, |env| {
        async move {
            let api = env.api::<Widget>();
            api.create(&PostParams::default(), &widget("a", 1)).await?;
            let (store, writer) = reflector::store::<Widget>();
            let stream = watcher(api.clone(), watcher::Config::default()).default_backoff().reflect(writer);
            let driver = tokio::spawn(stream.for_each(|_| async {}));
            tokio::time::timeout(Duration::from_secs(10), store.wait_until_ready()).await??;
            let key = ObjectRef::<Widget>::new("a").within(&env.namespace);
            assert_eq!(store.get(&key).map(|object| object.spec.size), Some(1));

            api.create(&PostParams::default(), &widget("b", 2)).await?;
            api.delete("a", &DeleteParams::default()).await?;
            tokio::time::timeout(Duration::from_secs(10), async {
                while store.state().iter().map(|object| object.name_any()).collect::<Vec<_>>() != ["b"] {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
            })
            .await?;
            assert_eq!(store.len(), 1);
            driver.abort();
            Ok(())
        }
        .boxed()
    })
}
