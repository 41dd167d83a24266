//! The spans of reconciles, as an OpenTelemetry exporter receives them.

#![allow(clippy::unwrap_used, reason = "a failed step fails the test")]

use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, Client,
    api::PostParams,
    runtime::{Controller, controller::Action, watcher},
};
use kube_testserver::ApiServer;
use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider};
use operator::telemetry::{TRACE_ANNOTATION, link_to_cause, spans};
use std::{convert::Infallible, sync::Arc, time::Duration};
use tracing_subscriber::{filter::LevelFilter, layer::SubscriberExt};

#[tokio::test(start_paused = true)]
async fn the_span_of_a_reconcile_is_linked_to_the_trace_of_the_change() {
    let exporter = InMemorySpanExporter::default();
    let provider = SdkTracerProvider::builder().with_simple_exporter(exporter.clone()).build();
    let subscriber = tracing_subscriber::registry().with(LevelFilter::INFO).with(spans(&provider));
    let _guard = tracing::subscriber::set_default(subscriber);

    let maps: Api<ConfigMap> = Api::default_namespaced(Client::new(ApiServer::new(), "default"));
    let mut map = ConfigMap::default();
    map.metadata.name = Some("a".into());
    let cause = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    map.metadata.annotations = Some([(TRACE_ANNOTATION.to_owned(), cause.to_owned())].into());
    maps.create(&PostParams::default(), &map).await.unwrap();

    let reconcile = |map: Arc<ConfigMap>, _| async move {
        link_to_cause(&*map);
        Ok::<_, Infallible>(Action::await_change())
    };
    let output = Controller::new(maps, watcher::Config::default()).run(
        reconcile,
        |_, _, _| Action::await_change(),
        Arc::new(()),
    );
    let mut output = Box::pin(output);
    tokio::time::timeout(Duration::from_secs(60), output.next()).await.unwrap().unwrap().unwrap();
    drop(output);
    provider.force_flush().unwrap();

    let spans = exporter.get_finished_spans().unwrap();
    let reconcile =
        spans.iter().find(|span| span.name == "reconciling object").expect("a span of the reconcile");
    let link = &reconcile.links.links[0].span_context;
    assert_eq!(link.trace_id().to_string(), "4bf92f3577b34da6a3ce929d0e0e4736");
    assert_eq!(link.span_id().to_string(), "00f067aa0ba902b7");
    let attribute = |name: &str| {
        let found = reconcile.attributes.iter().find(|attribute| attribute.key.as_str() == name);
        found.map(|attribute| attribute.value.to_string())
    };
    assert!(attribute("object.ref").unwrap().contains("a.default"), "{:?}", reconcile.attributes);
    assert!(attribute("object.reason").is_some() && attribute("reconcile.attempt").is_some());
}
