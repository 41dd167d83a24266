//! Publishes an Event and counts in a metric, in a controller under a manager.

use kube_testserver::TestServer;
use std::time::Duration;

// ANCHOR: all
use k8s_openapi::api::core::v1::ConfigMap;
use kube::operator::manager::{Manager, Writes};
use kube::runtime::controller::Action;
use kube::runtime::events::{Event, EventType, Recorder, Reporter};
use kube::runtime::{Controller, watcher};
use kube::{Api, Client, Resource};
use std::{net::SocketAddr, sync::Arc};

async fn reconcile(map: Arc<ConfigMap>, recorder: Arc<Recorder>) -> Result<Action, kube::Error> {
    if map.data.is_none() {
        metrics::counter!("maps_without_data_total").increment(1);
        let event = Event {
            type_: EventType::Warning,
            reason: "NoData".into(),
            note: Some("expected at least one entry in data".into()),
            action: "Reconciling".into(),
            secondary: None,
        };
        recorder.publish(&event, &map.object_ref(&())).await?;
    }
    Ok(Action::await_change())
}

fn manager(client: Client, metrics: SocketAddr) -> Manager {
    let maps = Api::<ConfigMap>::all(client.clone());
    // Shared by all reconciles: it knows which Events it has published.
    let recorder = Recorder::new(client.clone(), Reporter::from("example.com/maps"));
    Manager::new(client).serve_metrics(metrics).writes(&maps, Writes::Events).controller(
        "maps",
        Controller::new(maps, watcher::Config::default()),
        reconcile,
        Arc::new(recorder),
    )
}
// ANCHOR_END: all

#[tokio::test]
async fn an_event_is_published_and_counted() {
    let client = Client::new(TestServer::service(), "default");
    let maps = Api::<ConfigMap>::default_namespaced(client.clone());
    let empty = ConfigMap {
        metadata: kube::api::ObjectMeta { name: Some("empty".into()), ..Default::default() },
        ..ConfigMap::default()
    };
    maps.create(&Default::default(), &empty).await.unwrap();
    let manager = manager(client.clone(), SocketAddr::from(([127, 0, 0, 1], 0)));
    let handle = manager.handle();
    let running = tokio::spawn(manager.run_until(std::future::pending()));
    let events = Api::<k8s_openapi::api::events::v1::Event>::default_namespaced(client);
    let published = async {
        loop {
            let all = events.list(&Default::default()).await.unwrap().items;
            if let Some(event) = all.first() {
                break event.clone();
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let event = tokio::time::timeout(Duration::from_secs(30), published).await.unwrap();
    assert_eq!(event.reason.as_deref(), Some("NoData"));
    let address = handle.metrics_address().await.unwrap();
    let text = get(address).await;
    assert!(text.contains("maps_without_data_total 1"), "{text}");
    running.abort();
}

/// The page `/metrics`.
async fn get(address: SocketAddr) -> String {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
    stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").await.unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    text
}
