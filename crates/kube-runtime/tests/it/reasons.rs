//! The reasons of reconciles, as recorded in their spans. Each test covers a row of the guide's table of reasons.

use crate::common::{
    ApiExt, Outputs, TestError, config_maps, expect_next, named, owned, server, set_subscriber,
    spawn_outputs, wait_for_change,
};
use futures::{StreamExt, channel::mpsc, stream};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube_client::{Api, Client};
use kube_core::ResourceExt;
use kube_runtime::{
    Config, Controller,
    controller::{Action, ReconcileReason, ReconcileRequest, applier},
    reflector::{self, ObjectRef},
    watcher::{self, Event},
};
use std::{
    convert::Infallible,
    fmt,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use tracing::{
    Subscriber,
    field::{Field, Visit},
    span::Attributes,
};
use tracing_subscriber::{Layer, layer::SubscriberExt};

/// Records the fields of reconcile spans.
#[derive(Clone, Default)]
struct Spans(Arc<Mutex<Vec<[String; 2]>>>);

impl Spans {
    fn reasons(&self) -> Vec<String> {
        self.0.lock().unwrap().iter().map(|[_, reason]| reason.clone()).collect()
    }

    fn last(&self) -> [String; 2] {
        self.0.lock().unwrap().last().unwrap().clone()
    }
}

impl<S: Subscriber> Layer<S> for Spans {
    fn on_new_span(
        &self,
        attributes: &Attributes<'_>,
        _id: &tracing::Id,
        _context: tracing_subscriber::layer::Context<'_, S>,
    ) {
        #[derive(Default)]
        struct Fields([String; 2]);
        impl Visit for Fields {
            fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
                match field.name() {
                    "object.ref" => self.0[0] = format!("{value:?}"),
                    "object.reason" => self.0[1] = format!("{value:?}"),
                    "reconcile.attempt" => {}
                    other => panic!("unexpected field {other}"),
                }
            }
        }
        if attributes.metadata().name() == "reconciling object" {
            let mut fields = Fields::default();
            attributes.record(&mut fields);
            self.0.lock().unwrap().push(fields.0);
        }
    }
}

fn record_spans() -> (Spans, tracing::dispatcher::DefaultGuard) {
    let spans = Spans::default();
    let guard = set_subscriber(tracing_subscriber::registry().with(spans.clone()));
    (spans, guard)
}

fn secrets(client: &Client) -> Api<Secret> {
    Api::default_namespaced(client.clone())
}

fn controller(client: &Client) -> Controller<Secret> {
    Controller::new(secrets(client), watcher::Config::default())
}

fn run(controller: Controller<Secret>) -> Outputs {
    let nothing = |_, _| async { Ok::<_, Infallible>(Action::await_change()) };
    spawn_outputs(controller.run(nothing, wait_for_change, Arc::new(())))
}

#[tokio::test(start_paused = true)]
async fn a_change_and_a_related_change_have_their_reasons() {
    let (spans, _guard) = record_spans();
    let (_server, client) = server();
    let owner = secrets(&client).add(named("a")).await;
    let mut outputs = run(controller(&client).owns(config_maps(&client), watcher::Config::default()));
    expect_next(&mut outputs.items).await;
    assert_eq!(spans.last(), ["Secret.v1./a.default", "object updated"]);
    config_maps(&client).add(owned("child", &owner)).await;
    expect_next(&mut outputs.items).await;
    let reason = "related object updated: ConfigMap.v1./child.default";
    assert_eq!(spans.last(), ["Secret.v1./a.default", reason]);
}

#[tokio::test(start_paused = true)]
async fn custom_triggers_are_unknown_or_bulk_reconciles() {
    let (spans, _guard) = record_spans();
    let (_server, client) = server();
    secrets(&client).add(named("a")).await;
    let (one, one_trigger) = mpsc::unbounded();
    let (all_objects, all_trigger) = mpsc::unbounded();
    let mut outputs = run(controller(&client).reconcile_on(one_trigger).reconcile_all_on(all_trigger));
    expect_next(&mut outputs.items).await;
    one.unbounded_send(ObjectRef::new("a").within("default")).unwrap();
    expect_next(&mut outputs.items).await;
    all_objects.unbounded_send(()).unwrap();
    expect_next(&mut outputs.items).await;
    assert_eq!(spans.reasons(), ["object updated", "unknown", "bulk reconcile requested"]);
}

#[tokio::test(start_paused = true)]
async fn requeues_by_the_reconciler_and_by_the_error_policy_differ() {
    let (spans, _guard) = record_spans();
    let (_server, client) = server();
    secrets(&client).add(named("a")).await;
    let output = controller(&client).run(
        |_, runs: Arc<AtomicUsize>| async move {
            match runs.fetch_add(1, Ordering::Relaxed) {
                0 => Ok(Action::requeue(Duration::from_secs(1))),
                1 => Err(TestError("no")),
                _ => Ok(Action::await_change()),
            }
        },
        |_, _, _| Action::requeue(Duration::from_secs(5)),
        Arc::default(),
    );
    let mut outputs = spawn_outputs(output);
    for _ in 0..3 {
        expect_next(&mut outputs.items).await;
    }
    let expected = ["object updated", "reconciler requested retry", "error policy requested retry"];
    assert_eq!(spans.reasons(), expected);
}

#[tokio::test(start_paused = true)]
async fn an_applier_keeps_the_custom_reason_of_its_queue() {
    let (spans, _guard) = record_spans();
    let (store, mut writer) = reflector::store::<ConfigMap>();
    for event in [Event::Init, Event::InitApply(named("a")), Event::InitDone] {
        writer.apply_watcher_event(&event);
    }
    let reason = ReconcileReason::Custom { reason: "the certificate expires".into() };
    let request = ReconcileRequest { obj_ref: ObjectRef::<ConfigMap>::new("a"), reason };
    let output = applier(
        |object: Arc<ConfigMap>, _| {
            assert_eq!(object.name_any(), "a");
            Box::pin(async { Ok::<_, Infallible>(Action::await_change()) })
        },
        wait_for_change,
        Arc::new(()),
        store,
        stream::iter([Ok::<_, watcher::Error>(request)]),
        Config::default(),
    );
    assert_eq!(output.count().await, 1);
    assert_eq!(spans.last(), ["ConfigMap.v1./a", "the certificate expires"]);
}
