//! Own writes are seen: a controller whose watches are late makes each child once, and replaces it without a second one.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::{FutureExt as _, StreamExt as _};
use http::Request;
use http_body::Frame;
use http_body_util::{BodyExt as _, StreamBody};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{ListParams, ObjectMeta, PostParams};
use kube::client::Body;
use kube::runtime::controller::{Action, Related};
use kube::runtime::reflector::{self, Store};
use kube::runtime::{Config, Controller, watcher};
use kube::{Api, Client, Resource as _, ResourceExt as _};
use tokio::time::{Instant, sleep_until};

use crate::test_env::{Requires, run};
use crate::widget::{Widget, widget};

/// How late each event of a watch is.
const LAG: Duration = Duration::from_secs(2);

struct Context {
    maps: Api<ConfigMap>,
    children: Store<ConfigMap>,
    /// The most children that an owner has had at a time.
    most: Mutex<usize>,
}

/// Creates a child when the cache shows none, and replaces the one of an older generation.
async fn reconcile(owner: Arc<Widget>, context: Arc<Context>) -> Result<Action, kube::Error> {
    let generation = owner.metadata.generation.unwrap_or_default().to_string();
    let children = context.children.owned_by(&*owner);
    for old in children.iter().filter(|child| child.labels().get("generation") != Some(&generation)) {
        context.maps.delete_if_current(old).await?;
    }
    if !children.iter().any(|child| child.labels().get("generation") == Some(&generation)) {
        let metadata = ObjectMeta {
            generate_name: Some(format!("{}-", owner.name_any())),
            labels: Some([("generation".to_owned(), generation)].into()),
            owner_references: owner.controller_owner_ref(&()).map(|owner| vec![owner]),
            ..ObjectMeta::default()
        };
        context.maps.create(&PostParams::default(), &ConfigMap { metadata, ..ConfigMap::default() }).await?;
        let existing = context.maps.list(&ListParams::default().labels("generation")).await?.items.len();
        let mut most = context.most.lock().expect("no holder panics");
        *most = existing.max(*most);
    }
    Ok(Action::requeue(Duration::from_millis(200)))
}

#[test]
fn a_child_is_made_once_although_the_watch_is_late() -> anyhow::Result<()> {
    run(Requires::CoreKinds, |env| {
        async move {
            let (owners, maps) = (env.api::<Widget>(), env.api::<ConfigMap>());
            owners.create(&PostParams::default(), &widget("owner", 1)).await?;
            let late = late_watches(&env.client);
            let (children, writer) = reflector::store();
            let context = Arc::new(Context { maps, children, most: Mutex::default() });
            let related = Api::<ConfigMap>::namespaced(late.clone(), &env.namespace);
            let labelled = watcher::Config::default().labels("generation");
            let output =
                Controller::new(Api::<Widget>::namespaced(late, &env.namespace), watcher::Config::default())
                    .owns_related(Related::api(related, labelled).store(writer))
                    .with_config(Config::default().wait_for_own_writes(true).skip_own_writes())
                    .run(reconcile, |_, _, _| Action::retry(), Arc::clone(&context));
            let running = tokio::spawn(output.for_each(|_| async {}));
            for size in 2..4 {
                tokio::time::sleep(3 * LAG).await;
                owners.update_with_retry("owner", |owner| owner.spec.size = size).await?;
            }
            tokio::time::sleep(4 * LAG).await;
            running.abort();
            assert_eq!(*context.most.lock().expect("no holder panics"), 1, "at any time");
            let generation = owners.get("owner").await?.metadata.generation.unwrap_or_default().to_string();
            let existing = context.maps.list(&ListParams::default().labels("generation")).await?;
            let generations: Vec<_> =
                existing.iter().map(|child| child.labels()["generation"].clone()).collect();
            assert_eq!(generations, [generation]);
            Ok(())
        }
        .boxed()
    })
}

/// A client whose watches are late, as behind a proxy that holds each event back.
fn late_watches(inner: &Client) -> Client {
    let (client, namespace) = (inner.clone(), inner.default_namespace().to_owned());
    let service = tower::service_fn(move |request: Request<Body>| {
        let client = client.clone();
        let is_watch = request.uri().query().is_some_and(|query| query.contains("watch="));
        async move {
            let (parts, body) = client.send(request).await?.into_parts();
            let delayed = body.into_data_stream().map(move |data| {
                let due = Instant::now() + if is_watch { LAG } else { Duration::ZERO };
                async move {
                    sleep_until(due).await;
                    data.map(Frame::data)
                }
            });
            let body = StreamBody::new(delayed.buffered(1_000));
            Ok::<_, kube::Error>(http::Response::from_parts(parts, body))
        }
    });
    Client::new(service, namespace)
}
