//! The guide's samples of "Controller Pipeline" (also `spec/controller-pipeline.txt`), with the corrections listed in
//! `docs/design/spec-notes.md`. Each test checks what the guide says about its sample, under paused time on the embedded server.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::{Stream, StreamExt as _, channel::mpsc};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::{ObjectMeta, PostParams};
use kube::runtime::controller::{Action, Config};
use kube::runtime::reflector::{self, ObjectRef, reflector};
use kube::runtime::{Controller, WatchStreamExt as _, watcher};
use kube::{Api, Client, Resource as _, ResourceExt as _};
use kube_testserver::ApiServer;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep, timeout};

/// The resource of the samples; any kind works.
type MyResource = k8s_openapi::api::core::v1::ServiceAccount;

/// Start and end times of reconciles, in milliseconds since `start`.
struct Context {
    start: Instant,
    /// How long each reconcile takes.
    duration: Duration,
    began: Mutex<Vec<(u128, String)>>,
    ended: Mutex<Vec<u128>>,
}

impl Context {
    fn new(duration: Duration) -> Arc<Self> {
        Arc::new(Self { start: Instant::now(), duration, began: Mutex::default(), ended: Mutex::default() })
    }

    fn restart(&self) -> Instant {
        self.began.lock().expect("no holder panics").clear();
        Instant::now()
    }

    fn since(&self, then: Instant) -> Vec<(u128, String)> {
        let offset = then.duration_since(self.start).as_millis();
        let began = self.began.lock().expect("no holder panics").clone();
        began.into_iter().map(|(at, name)| (at - offset, name)).collect()
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<_> =
            self.began.lock().expect("no holder panics").iter().map(|(_, name)| name.clone()).collect();
        names.sort();
        names
    }
}

async fn reconcile(obj: Arc<MyResource>, ctx: Arc<Context>) -> Result<Action, Infallible> {
    ctx.began.lock().expect("no holder panics").push((ctx.start.elapsed().as_millis(), obj.name_any()));
    sleep(ctx.duration).await;
    ctx.ended.lock().expect("no holder panics").push(ctx.start.elapsed().as_millis());
    Ok(Action::await_change())
}

fn error_policy(_obj: Arc<MyResource>, _error: &Infallible, _ctx: Arc<Context>) -> Action {
    Action::requeue(Duration::from_secs(5))
}

async fn setup(names: &[&str]) -> anyhow::Result<(Client, Api<MyResource>)> {
    let client = Client::new(ApiServer::new(), "default");
    let api = Api::default_namespaced(client.clone());
    for name in names {
        let object = MyResource { metadata: meta(name, &[]), ..MyResource::default() };
        api.create(&PostParams::default(), &object).await?;
    }
    Ok((client, api))
}

fn meta(name: &str, labels: &[(&str, &str)]) -> ObjectMeta {
    let labels = labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    ObjectMeta { name: Some(name.into()), labels: Some(labels), ..ObjectMeta::default() }
}

fn spawn<T: Send + 'static>(output: impl Stream<Item = T> + Send + 'static) {
    tokio::spawn(output.for_each(|_| async {}));
}

/// "Extract only entries whose kind and apiVersion match" for `owns`, "ObjectRefs returned by the mapper" for `watches`.
#[tokio::test(start_paused = true)]
async fn owns_and_watches_trigger_the_related_object() -> anyhow::Result<()> {
    let (client, api) = setup(&["a", "b"]).await?;
    let (config_maps, secrets) =
        (Api::<ConfigMap>::default_namespaced(client.clone()), Api::<Secret>::default_namespaced(client));
    let ctx = Context::new(Duration::ZERO);
    let wc = watcher::Config::default();
    let controller = Controller::new(api.clone(), wc.clone());
    let controller = controller.owns::<ConfigMap>(config_maps.clone(), wc.clone());
    let controller = controller.watches::<Secret, _>(secrets.clone(), wc, |secret| {
        // Return list of ObjectRefs for related primary resources from the Secret
        let name = secret.labels().get("app")?.clone();
        let ns = secret.namespace()?;
        Some(ObjectRef::new(&name).within(&ns))
    });
    spawn(controller.run(reconcile, error_policy, ctx.clone()));
    sleep(Duration::from_secs(1)).await;
    assert_eq!(ctx.names(), ["a", "b"]);

    ctx.restart();
    let mut owner = api.get("a").await?.controller_owner_ref(&());
    let mut map = ConfigMap { metadata: meta("child", &[]), ..ConfigMap::default() };
    map.metadata.owner_references = owner.clone().map(|owner| vec![owner]);
    config_maps.create(&PostParams::default(), &map).await?;
    if let Some(owner) = &mut owner {
        owner.kind = "ReplicaSet".into();
        owner.api_version = "apps/v1".into();
    }
    map.metadata.name = Some("of-another-kind".into());
    map.metadata.owner_references = owner.map(|owner| vec![owner]);
    config_maps.create(&PostParams::default(), &map).await?;
    sleep(Duration::from_secs(1)).await;
    assert_eq!(ctx.names(), ["a"]);

    ctx.restart();
    for (name, labels) in [("for-b", &[("app", "b")][..]), ("without-label", &[])] {
        let secret = Secret { metadata: meta(name, labels), ..Secret::default() };
        secrets.create(&PostParams::default(), &secret).await?;
    }
    sleep(Duration::from_secs(1)).await;
    assert_eq!(ctx.names(), ["b"]);
    Ok(())
}

/// "lets you connect external triggers beyond watch events"
#[tokio::test(start_paused = true)]
async fn an_external_stream_triggers_one_object() -> anyhow::Result<()> {
    let (_client, api) = setup(&["a", "b"]).await?;
    let ctx = Context::new(Duration::ZERO);
    let (mut tx, rx) = mpsc::channel::<ObjectRef<MyResource>>(256);
    let output = Controller::new(api, watcher::Config::default()).reconcile_on(rx).run(
        reconcile,
        error_policy,
        ctx.clone(),
    );
    spawn(output);
    sleep(Duration::from_secs(1)).await;
    ctx.restart();
    tx.try_send(ObjectRef::new("b").within("default"))?;
    sleep(Duration::from_secs(1)).await;
    assert_eq!(ctx.names(), ["b"]);
    Ok(())
}

/// The two samples of the stream-based API: "manually constructs the watchers that owns()/watches() create".
#[tokio::test(start_paused = true)]
async fn custom_streams_feed_a_controller() -> anyhow::Result<()> {
    let (client, api) = setup(&["a", "b"]).await?;
    let (cm_api, secret_api) =
        (Api::<ConfigMap>::default_namespaced(client.clone()), Api::<Secret>::default_namespaced(client));
    let wc = watcher::Config::default();
    let ctx = Context::new(Duration::ZERO);

    // Primary resource stream
    let (reader, writer) = reflector::store();
    let main_stream = reflector(writer, watcher(api.clone(), wc.clone())).applied_objects().default_backoff();
    // Related resource streams
    let cm_stream = watcher(cm_api.clone(), wc.clone()).applied_objects().default_backoff();
    let secret_stream = watcher(secret_api.clone(), wc.clone()).applied_objects().default_backoff();
    let owned_stream = watcher(cm_api.clone(), wc.clone()).touched_objects().default_backoff();

    let output = Controller::for_stream(main_stream, reader)
        .owns_stream::<ConfigMap>(owned_stream)
        .watches_stream(cm_stream, |cm| {
            // ConfigMap -> primary resource mapping
            let name = cm.labels().get("app")?.clone();
            let ns = cm.namespace()?;
            Some(ObjectRef::new(&name).within(&ns))
        })
        .watches_stream::<Secret, _>(secret_stream, |secret| {
            let name = secret.labels().get("app")?.clone();
            let ns = secret.namespace()?;
            Some(ObjectRef::new(&name).within(&ns))
        })
        .run(reconcile, error_policy, ctx.clone());
    spawn(output);
    sleep(Duration::from_secs(1)).await;
    assert_eq!(ctx.names(), ["a", "b"]);
    ctx.restart();
    let map = ConfigMap { metadata: meta("m", &[("app", "a")]), ..ConfigMap::default() };
    cm_api.create(&PostParams::default(), &map).await?;
    let secret = Secret { metadata: meta("s", &[("app", "b")]), ..Secret::default() };
    secret_api.create(&PostParams::default(), &secret).await?;
    sleep(Duration::from_secs(1)).await;
    assert_eq!(ctx.names(), ["a", "b"]);
    Ok(())
}

/// The guide's timeline, to the millisecond.
#[tokio::test(start_paused = true)]
async fn debounce_of_one_second_follows_the_timeline() -> anyhow::Result<()> {
    let (_client, api) = setup(&["a"]).await?;
    let ctx = Context::new(Duration::ZERO);
    let (mut trigger, triggers) = mpsc::channel::<ObjectRef<MyResource>>(256);
    let a = || ObjectRef::new("a").within("default");
    let output = Controller::new(api, watcher::Config::default())
        .with_config(Config::default().debounce(Duration::from_secs(1)))
        .reconcile_on(triggers)
        .run(reconcile, error_policy, ctx.clone());
    spawn(output);
    sleep(Duration::from_secs(10)).await;
    let t0 = ctx.restart();
    trigger.try_send(a())?; // t=0.0: scheduled for execution in 1 second
    sleep(Duration::from_millis(300)).await;
    trigger.try_send(a())?; // t=0.3: already scheduled, ignored
    sleep(Duration::from_millis(900)).await;
    trigger.try_send(a())?; // t=1.2: scheduled again for 1 second later
    sleep(Duration::from_secs(10)).await;
    assert_eq!(ctx.since(t0), [(1000, "a".to_owned()), (2200, "a".to_owned())]);
    Ok(())
}

/// "Object A is reconciling, a new trigger for A arrives, held in scheduler. A completes, A is dequeued and runs again."
#[tokio::test(start_paused = true)]
async fn a_trigger_for_a_running_object_is_held() -> anyhow::Result<()> {
    let (_client, api) = setup(&["a", "b"]).await?;
    let ctx = Context::new(Duration::from_secs(2));
    let (mut trigger, triggers) = mpsc::channel::<ObjectRef<MyResource>>(256);
    let output = Controller::new(api, watcher::Config::default()).reconcile_on(triggers).run(
        reconcile,
        error_policy,
        ctx.clone(),
    );
    spawn(output);
    sleep(Duration::from_secs(10)).await;
    let t0 = ctx.restart();
    for (at, name) in [(0, "a"), (500, "a"), (700, "a"), (900, "b")] {
        tokio::time::sleep_until(t0 + Duration::from_millis(at)).await;
        trigger.try_send(ObjectRef::new(name).within("default"))?;
    }
    sleep(Duration::from_secs(10)).await;
    let began = ctx.since(t0);
    assert_eq!(began, [(0, "a".to_owned()), (900, "b".to_owned()), (2000, "a".to_owned())]);
    Ok(())
}

/// "Reconciles do not start until Store::wait_until_ready() completes": a partial list is not enough.
#[tokio::test(start_paused = true)]
async fn reconciles_start_after_the_initial_list() -> anyhow::Result<()> {
    let (reader, writer) = reflector::store::<MyResource>();
    let (events, watch) = mpsc::unbounded();
    let ctx = Context::new(Duration::ZERO);
    let objects = reflector(writer, watch).applied_objects();
    spawn(Controller::for_stream(objects, reader.clone()).run(reconcile, error_policy, ctx.clone()));
    let object = MyResource { metadata: meta("a", &[]), ..MyResource::default() };
    events.unbounded_send(Ok(watcher::Event::Init))?;
    events.unbounded_send(Ok(watcher::Event::InitApply(object)))?;
    sleep(Duration::from_secs(60)).await;
    assert_eq!(ctx.names(), [""; 0]);
    events.unbounded_send(Ok(watcher::Event::InitDone))?;
    reader.wait_until_ready().await?;
    sleep(Duration::from_secs(1)).await;
    assert_eq!(ctx.names(), ["a"]);
    Ok(())
}

/// The defaults of the guide's table (no debounce, no limit) and the limit of its sample.
#[tokio::test(start_paused = true)]
async fn config_limits_debounce_and_concurrency() -> anyhow::Result<()> {
    let names: Vec<String> = (0..30).map(|n| format!("n-{n:02}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let limited = Config::default()
        .debounce(Duration::from_secs(1)) // Minimum interval between triggers
        .concurrency(10); // Maximum concurrent reconciles
    for (config, starts) in
        [(Config::default(), vec![0; 30]), (limited, [[1; 10], [3; 10], [5; 10]].concat())]
    {
        let (_client, api) = setup(&names).await?;
        let ctx = Context::new(Duration::from_secs(2));
        let controller = Controller::new(api, watcher::Config::default()).with_config(config);
        spawn(controller.run(reconcile, error_policy, ctx.clone()));
        sleep(Duration::from_secs(30)).await;
        let began: Vec<_> = ctx.since(ctx.start).into_iter().map(|(at, _)| at / 1000).collect();
        assert_eq!(began, starts);
    }
    Ok(())
}

/// "Stops starting new reconciles. Waits for in-progress reconciles to complete."
#[tokio::test(start_paused = true)]
async fn a_graceful_shutdown_finishes_running_reconciles() -> anyhow::Result<()> {
    let (_client, api) = setup(&["a"]).await?;
    let ctx = Context::new(Duration::from_secs(5));
    let (tx, rx) = oneshot::channel::<()>();
    let output = Controller::new(api.clone(), watcher::Config::default())
        .graceful_shutdown_on(async move {
            rx.await.ok();
        })
        .run(reconcile, error_policy, ctx.clone());
    let running = tokio::spawn(output.for_each(|_| async {}));
    sleep(Duration::from_secs(1)).await;
    tx.send(()).map_err(|()| anyhow::anyhow!("the controller has ended too early"))?;
    let object = MyResource { metadata: meta("late", &[]), ..MyResource::default() };
    api.create(&PostParams::default(), &object).await?;
    timeout(Duration::from_secs(5), running).await??;
    assert_eq!(ctx.names(), ["a"]);
    assert_eq!(*ctx.ended.lock().expect("no holder panics"), [5000]);
    let _as_printed = Controller::new(api, watcher::Config::default()).shutdown_on_signal();
    Ok(())
}
