//! The tables and samples of `spec/watcher.md`, `spec/streams.txt` and the guide's chapters on watcher and reflector, as tests.
//! The guide's samples themselves are compiled in `examples/guide`.

use crate::common::{ApiExt, config_maps, expect_next, labelled, named, server};
use futures::{FutureExt, Stream, StreamExt, TryStreamExt, stream};
use k8s_openapi::api::core::v1::{ConfigMap, Pod, PodStatus};
use kube_client::Api;
use kube_core::{PartialObjectMeta, ResourceExt};
use kube_runtime::{
    PredicateConfig, WatchStreamExt, predicates, reflector,
    reflector::store::Writer,
    watcher::{self, Config, Event, InitialListStrategy, ListSemantic, watcher},
};
use kube_testserver::{Fault, Match};
use std::pin::pin;

fn object(name: &str, version: &str) -> ConfigMap {
    let mut object: ConfigMap = named(name);
    object.metadata.resource_version = Some(version.into());
    object
}

fn names(writer: &Writer<ConfigMap>) -> Vec<String> {
    let mut names: Vec<_> = writer.as_reader().state().iter().map(|it| it.name_any()).collect();
    names.sort();
    names
}

/// "How each event is handled", row by row.
#[test]
fn each_event_changes_the_store_as_in_the_guides_table() {
    let mut writer = Writer::<ConfigMap>::default();
    assert_eq!(writer.as_reader().state().len(), 0, "the store is empty when created");
    for event in [Event::Init, Event::InitApply(object("old", "1")), Event::InitDone] {
        writer.apply_watcher_event(&event);
    }
    let snapshot = writer.as_reader().state();
    for (event, then) in [
        (Event::Init, vec!["old"]),                           // previous data retained
        (Event::InitApply(object("obj1", "2")), vec!["old"]), // still previous data
        (Event::InitApply(object("obj2", "3")), vec!["old"]),
        (Event::InitDone, vec!["obj1", "obj2"]), // swapped all at once
        (Event::Apply(object("obj3", "4")), vec!["obj1", "obj2", "obj3"]), // immediately reflected
        (Event::Delete(object("obj1", "5")), vec!["obj2", "obj3"]), // immediately reflected
    ] {
        writer.apply_watcher_event(&event);
        assert_eq!(names(&writer), then, "after {event}");
    }
    assert_eq!(snapshot[0].name_any(), "old", "the returned state is a snapshot");
}

/// The table of options with their defaults, and the sample before it.
#[test]
fn the_options_have_the_defaults_of_the_guides_table() {
    let default = Config::default();
    assert_eq!((default.label_selector, default.field_selector), (None, None));
    assert_eq!(default.timeout, None, "which means 295 s: see the idle timeout in the machine's tests");
    assert_eq!((default.page_size, default.bookmarks), (Some(500), true));
    assert_eq!(default.initial_list_strategy, InitialListStrategy::ListWatch);
    assert_eq!(default.list_semantic, ListSemantic::MostRecent);

    let wc = Config::default()
        .labels("app=myapp")
        .fields("status.phase=Running")
        .timeout(300)
        .page_size(100)
        .streaming_lists()
        .any_semantic()
        .disable_bookmarks();
    assert_eq!(wc.label_selector.as_deref(), Some("app=myapp"));
    assert_eq!(wc.field_selector.as_deref(), Some("status.phase=Running"));
    assert_eq!((wc.timeout, wc.page_size, wc.bookmarks), (Some(300), Some(100), false));
    assert_eq!(wc.initial_list_strategy, InitialListStrategy::StreamingList);
    assert_eq!(wc.list_semantic, ListSemantic::Any);
}

/// The table of watch events, "during initial list" and "during watch", by both strategies.
#[tokio::test(start_paused = true)]
async fn watch_events_are_mapped_as_in_the_guides_table() {
    for config in [Config::default(), Config::default().streaming_lists()] {
        let (_server, client) = server();
        let api = config_maps(&client);
        api.add(named("there")).await;
        let mut events = pin!(watcher(api.clone(), config));
        let mut items = Vec::new();
        for _ in 0..3 {
            items.push(expect_next(&mut events).await.unwrap().to_string());
        }
        api.add(named("added")).await;
        api.touch("added", "modified").await;
        api.remove("added").await;
        for _ in 0..3 {
            items.push(expect_next(&mut events).await.unwrap().to_string());
        }
        assert_eq!(items[..3], ["Init", "InitApply(default/there)", "InitDone"]);
        assert_eq!(items[3..], ["Apply(default/added)", "Apply(default/added)", "Delete(default/added)"]);
    }
}

/// The rows "watcher" of the table of errors: the variant of each layer's errors. None ends the stream.
#[tokio::test(start_paused = true)]
async fn errors_are_mapped_as_in_the_guides_table() {
    let (list, watch) = (Match::list::<ConfigMap>(), Match::watch::<ConfigMap>());
    for (request, fault, variant) in [
        (list, Fault::status(500, "InternalError"), "InitialListFailed"),
        (watch.clone(), Fault::status(500, "InternalError"), "WatchStartFailed"),
        (watch.clone(), Fault::Truncate, "WatchFailed"),
        (watch, Fault::Expired, "WatchError"),
    ] {
        let (server, client) = server();
        let api = config_maps(&client);
        server.fault(request.times(1), fault);
        let mut events = pin!(watcher(api.clone(), Config::default()));
        let error = loop {
            match expect_next(&mut events).await {
                Ok(Event::InitDone) => drop(api.add(named("change")).await), // its event is truncated
                Ok(_) => {}
                Err(error) => break format!("{error:?}"),
            }
        };
        assert!(error.starts_with(variant), "{error}");
        api.add(named("new")).await;
        let expected = ["Apply(default/new)", "InitApply(default/new)"];
        while !expect_next(&mut events)
            .await
            .is_ok_and(|event| expected.contains(&event.to_string().as_str()))
        {}
    }
}

/// "The above example will run continuously"; "drop-in replacement provided you do not need data in spec or status".
#[tokio::test(start_paused = true)]
async fn metadata_streams_can_fill_a_reflector() {
    let (_server, client) = server();
    config_maps(&client).add(labelled("a", ("app", "web"))).await;
    let api: Api<PartialObjectMeta<ConfigMap>> = Api::default_namespaced(client);
    let (reader, writer) = reflector::store();
    let mut stream = pin!(reflector(writer, watcher(api, Config::default())).applied_objects());
    assert_eq!(expect_next(&mut stream).await.unwrap().name_any(), "a");
    assert!(stream.next().now_or_never().is_none());
    reader.wait_until_ready().await.unwrap();
    assert_eq!(reader.state()[0].labels()["app"], "web");
}

fn pods(events: impl IntoIterator<Item = Event<Pod>>) -> impl Stream<Item = watcher::Result<Event<Pod>>> {
    stream::iter(events.into_iter().map(Ok).collect::<Vec<_>>())
}

/// "It is possible to do the modification after the reflector call, but this would result in the modification not being
/// persisted in the store".
#[tokio::test]
async fn only_modifications_before_the_reflector_are_stored() {
    let pod = || Event::Apply(Pod { status: Some(PodStatus::default()), ..named("a") });
    let prune = |pod: &mut Pod| pod.status = None;

    let (reader, writer) = reflector::store::<Pod>();
    let rf = reflector(writer, pods([pod()]).modify(prune)).applied_objects();
    assert!(rf.try_collect::<Vec<_>>().await.unwrap()[0].status.is_none());
    assert!(reader.state()[0].status.is_none());

    let (reader, writer) = reflector::store::<Pod>();
    let rf = reflector(writer, pods([pod()])).modify(prune).applied_objects();
    assert!(rf.try_collect::<Vec<_>>().await.unwrap()[0].status.is_none());
    assert!(reader.state()[0].status.is_some());
}

/// "We can additionally wrap a reflector around the raw watcher stream before doing the filter. This ensures we still have
/// the most up-to-date value received in the cache".
#[tokio::test]
async fn a_store_before_a_filter_has_the_newest_state() {
    let generation = |generation: i64, version: &str| {
        let mut pod: Pod = named("a");
        pod.metadata.generation = Some(generation);
        pod.metadata.resource_version = Some(version.into());
        Event::Apply(pod)
    };
    let (reader, writer) = reflector::store::<Pod>();
    let stream = reflector(
        writer,
        pods([generation(1, "1"), generation(1, "2"), generation(2, "3"), generation(2, "4")]),
    )
    .applied_objects()
    .predicate_filter(predicates::generation, PredicateConfig::default());
    let passed: Vec<_> = stream.map_ok(|pod| pod.resource_version().unwrap()).try_collect().await.unwrap();
    assert_eq!(passed, ["1", "3"]);
    assert_eq!(reader.state()[0].resource_version().as_deref(), Some("4"));
}
