//! Publishing events.

use crate::common::{Change, config_maps, named, server};
use k8s_openapi::api::events::v1::Event as ApiEvent;
use kube_client::Api;
use kube_core::{Resource, params::DeleteParams};
use kube_runtime::events::{Event, EventType, Recorder, Reporter};

fn event(note: &str) -> Event {
    Event {
        type_: EventType::Warning,
        reason: "Tested".into(),
        note: Some(note.into()),
        action: "Testing".into(),
        secondary: None,
    }
}

#[tokio::test(start_paused = true)]
async fn repetitions_become_a_series() {
    let (_server, client) = server();
    let object = config_maps(&client).add(named("a")).await.object_ref(&());
    let events: Api<ApiEvent> = Api::default_namespaced(client.clone());
    let recorder = Recorder::new(client, Reporter::from("example.com/test"));
    recorder.publish(&event("one"), &object).await.unwrap();
    recorder.publish(&event("two"), &object).await.unwrap();
    recorder.clone().publish(&event("one"), &object).await.unwrap();
    recorder.publish(&event("one"), &object).await.unwrap();

    let mut published = events.list(&Default::default()).await.unwrap().items;
    published.sort_by_key(|event| event.note.clone());
    assert_eq!(published.len(), 2);
    let one = &published[0];
    assert_eq!(one.series.as_ref().unwrap().count, 3);
    assert_eq!((one.type_.as_deref(), one.reason.as_deref()), (Some("Warning"), Some("Tested")));
    assert_eq!(one.regarding.as_ref().unwrap().name.as_deref(), Some("a"));
    assert_eq!(one.reporting_instance.as_deref(), Some("example.com/test"));
    assert!(published[1].series.is_none());

    let name = one.metadata.name.clone().unwrap();
    events.delete(&name, &DeleteParams::default()).await.unwrap();
    recorder.publish(&event("one"), &object).await.unwrap();
    assert_eq!(
        events.list(&Default::default()).await.unwrap().items.len(),
        2,
        "what has expired is published anew"
    );
}
