//! Publishing events.

use crate::common::{ApiExt, config_maps, named, server};
use k8s_openapi::api::{core::v1::ObjectReference, events::v1::Event as ApiEvent, rbac::v1::ClusterRole};
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
async fn repeated_events_become_a_series_regardless_of_their_notes() {
    let (_server, client) = server();
    let object = config_maps(&client).add(named("a")).await.object_ref(&());
    let events: Api<ApiEvent> = Api::default_namespaced(client.clone());
    let recorder = Recorder::new(client, Reporter::from("example.com/test"));
    recorder.publish(&event("one"), &object).await.unwrap();
    recorder.clone().publish(&event("two"), &object).await.unwrap();
    recorder.publish(&event("one"), &object).await.unwrap();
    let other = Event { reason: "Other".into(), ..event("one") };
    recorder.publish(&other, &object).await.unwrap();

    let mut published = events.list(&Default::default()).await.unwrap().items;
    published.sort_by_key(|event| event.reason.clone());
    assert_eq!(published.len(), 2);
    assert!(published[0].series.is_none());
    let series = &published[1];
    assert_eq!(series.series.as_ref().unwrap().count, 3);
    assert_eq!((series.type_.as_deref(), series.note.as_deref()), (Some("Warning"), Some("one")));
    assert_eq!(series.regarding.as_ref().unwrap().name.as_deref(), Some("a"));
    assert_eq!(series.reporting_instance.as_deref(), Some("example.com/test"));

    let name = series.metadata.name.clone().unwrap();
    events.delete(&name, &DeleteParams::default()).await.unwrap();
    recorder.publish(&event("one"), &object).await.unwrap();
    assert_eq!(
        events.list(&Default::default()).await.unwrap().items.len(),
        2,
        "an expired event is published again"
    );
}

/// Paused time stands still, but for the few nanoseconds in which clocks are read.
#[tokio::test(start_paused = true)]
async fn events_of_one_moment_have_names_of_their_own() {
    let (_server, client) = server();
    let object = config_maps(&client).add(named("a")).await.object_ref(&());
    let recorders = ["a", "b"].map(|name| Recorder::new(client.clone(), Reporter::from(name)));
    for number in 0..300 {
        let event = Event { reason: format!("Reason{number}"), ..event("one") };
        recorders[number % 2].publish(&event, &object).await.unwrap();
    }
    let events: Api<ApiEvent> = Api::default_namespaced(client);
    assert_eq!(events.list(&Default::default()).await.unwrap().items.len(), 300);
}

#[tokio::test(start_paused = true)]
async fn events_that_differ_in_more_than_their_notes_are_separate_series() {
    let (_server, client) = server();
    let object = config_maps(&client).add(named("a")).await.object_ref(&());
    let events: Api<ApiEvent> = Api::default_namespaced(client.clone());
    let recorder = Recorder::new(client, Reporter::from("example.com/test"));
    let renamed = |name: &str| ObjectReference { name: Some(name.into()), ..object.clone() };
    for (event, object) in [
        (event("one"), object.clone()),
        (Event { type_: EventType::Normal, ..event("one") }, object.clone()),
        (Event { reason: "Other".into(), ..event("one") }, object.clone()),
        (Event { action: "Other".into(), ..event("one") }, object.clone()),
        (Event { secondary: Some(renamed("b")), ..event("one") }, object.clone()),
        (Event { secondary: Some(renamed("c")), ..event("one") }, object.clone()),
        (event("one"), renamed("d")),
    ] {
        recorder.publish(&event, &object).await.unwrap();
    }
    let published = events.list(&Default::default()).await.unwrap().items;
    assert_eq!(published.len(), 7);
    assert!(published.iter().all(|event| event.series.is_none()));
}

#[tokio::test(start_paused = true)]
async fn an_object_name_that_is_invalid_for_events_is_converted() {
    let (_server, client) = server();
    let role: ClusterRole = named("system:node");
    let role = Api::all(client.clone()).create(&Default::default(), &role).await.unwrap();
    let recorder = Recorder::new(client.clone(), Reporter::from("example.com/test"));
    recorder.publish(&event("one"), &role.object_ref(&())).await.unwrap();
    recorder.publish(&event("one"), &role.object_ref(&())).await.unwrap();
    let events: Api<ApiEvent> = Api::namespaced(client, "kube-system");
    let published = events.list(&Default::default()).await.unwrap().items;
    assert_eq!(published.len(), 1);
    let name = published[0].metadata.name.as_deref().unwrap();
    assert!(name.starts_with("system-node."), "{name}");
    assert_eq!(published[0].regarding.as_ref().unwrap().name.as_deref(), Some("system:node"));
    assert_eq!(published[0].series.as_ref().unwrap().count, 2);
}

#[tokio::test(start_paused = true)]
async fn fields_that_are_too_long_are_truncated_and_an_empty_namespace_is_none() {
    let (_server, client) = server();
    let long = "Ää".repeat(100);
    let reporter = Reporter { controller: "example.com/test".into(), instance: Some(long.clone()) };
    let recorder = Recorder::new(client.clone(), reporter);
    let event =
        Event { reason: long.clone(), action: long.clone(), note: Some("x".repeat(2000)), ..event("") };
    let object = ObjectReference {
        kind: Some("Node".into()),
        api_version: Some("v1".into()),
        name: Some("a".into()),
        namespace: Some(String::new()),
        ..ObjectReference::default()
    };
    recorder.publish(&event, &object).await.unwrap();
    let events: Api<ApiEvent> = Api::namespaced(client, "kube-system");
    let published = events.list(&Default::default()).await.unwrap().items.remove(0);
    for field in [&published.reason, &published.action, &published.reporting_instance] {
        assert_eq!(field.as_deref(), Some(&long[..128]));
    }
    assert_eq!(published.note.unwrap().len(), 1024);
}
