//! Compact caches: stores and controllers that keep objects compressed.

use crate::{
    common::{
        ApiExt, config_maps, eventually, expect_next, in_namespaces, labelled, named, owned, server,
        wait_for_change,
    },
    scripted_server::{event, idle, list, object, scripted_server, undecodable, watch_response},
};
use futures::StreamExt;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret};
use kube_client::{Api, Client, client::Prune, error::ErrorChain};
use kube_core::{ApiResource, DynamicObject, PartialObjectMeta, Resource, ResourceExt, params::PostParams};
use kube_runtime::{
    Controller, Predicate,
    controller::{Action, Related},
    predicates,
    reflector::{self, CompactWriter, Index, ObjectRef, Store},
    watcher::{Config, Event},
};
use kube_testserver::{Fault, Match};
use serde_json::{Value, json};
use std::{
    convert::Infallible,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};
use tokio::task::JoinHandle;

fn key(name: &str) -> ObjectRef<ConfigMap> {
    ObjectRef::new(name).within("default")
}

fn names(objects: &[Arc<ConfigMap>]) -> Vec<String> {
    let mut names: Vec<_> = objects.iter().map(|object| object.name_any()).collect();
    names.sort();
    names
}

/// A compact store of the maps of the default namespace, and the task that fills it.
async fn filled(client: &Client, config: Config) -> (Store<ConfigMap>, JoinHandle<()>) {
    let (store, writer) = reflector::compact_store::<ConfigMap>();
    let events = writer.watch(config_maps(client), config);
    let filling = tokio::spawn(events.for_each(|_event| async {}));
    store.wait_until_ready().await.unwrap();
    (store, filling)
}

#[tokio::test]
async fn it_is_read_like_any_store() {
    let (_server, client) = server();
    let maps = config_maps(&client);
    let web = maps.add(labelled("web", ("tier", "front"))).await;
    let mut data: ConfigMap = labelled("db", ("tier", "back"));
    data.data = Some([("size".to_owned(), "7".to_owned())].into());
    let db = maps.add(data).await;
    for config in [Config::default(), Config::default().streaming_lists(), Config::default().page_size(1)] {
        let (store, filling) = filled(&client, config).await;
        assert_eq!(store.get(&key("web")).as_deref(), Some(&web), "the whole object");
        assert_eq!(store.try_get(&key("db")).unwrap().as_deref(), Some(&db));
        assert!(store.get(&key("none")).is_none() && store.try_get(&key("none")).unwrap().is_none());
        assert_eq!((store.len(), store.is_empty()), (2, false));
        assert_eq!(names(&store.state()), ["db", "web"]);
        assert_eq!(names(&store.state_filter(|map| map.data.is_some())), ["db"]);
        assert_eq!(store.find(|map| map.data.is_none()).unwrap().name_any(), "web");
        assert_eq!(names(&store.state_filter_selector(&"tier in (front,side)".parse().unwrap())), ["web"]);
        assert_eq!(names(&store.by_index(&Index::labels(), "tier=back")), ["db"]);
        assert!(Arc::ptr_eq(&store.get(&key("db")).unwrap(), &store.get(&key("db")).unwrap()), "recent");
        filling.abort();
    }
}

#[tokio::test]
async fn it_follows_changes_and_waits_for_writes() {
    let (server, client) = server();
    let maps = config_maps(&client);
    maps.add(named::<ConfigMap>("a")).await;
    let (store, _filling) = filled(&client, Config::default()).await;
    let mut subscriber = store.subscribe().unwrap();
    assert_eq!(expect_next(&mut subscriber).await.name_any(), "a");
    let changed = maps.touch("a", "1").await;
    assert_eq!(store.wait_for(&changed).await.unwrap().as_deref(), Some(&changed));
    assert_eq!(*expect_next(&mut subscriber.clone()).await, changed);
    assert_eq!(*expect_next(&mut subscriber).await, changed);
    maps.remove("a").await;
    eventually(async || store.is_empty()).await;
    assert_eq!(expect_next(&mut subscriber).await.name_any(), "a", "its last state");
    maps.add(named::<ConfigMap>("b")).await;
    // A watch that is up to date would be resumed.
    let expired = server.fault(Match::watch::<ConfigMap>().times(1), Fault::Expired);
    server.end_watches();
    let written = maps.add(named::<ConfigMap>("c")).await;
    assert!(store.wait_for(&written).await.unwrap().is_some());
    assert_eq!((names(&store.state()), expired.hits()), (vec!["b".into(), "c".into()], 1), "after a relist");
}

#[tokio::test]
async fn indexes_find_objects_and_follow_their_changes() {
    let (_server, client) = server();
    let maps = config_maps(&client);
    let owner = Api::<Secret>::default_namespaced(client.clone()).add(named::<Secret>("owner")).await;
    let with_size = |name: &str, size: &str| {
        let mut map: ConfigMap = owned(name, &owner);
        map.data = Some([("size".to_owned(), size.to_owned())].into());
        map
    };
    for (name, size) in [("a", "1"), ("b", "2"), ("c", "1")] {
        maps.add(with_size(name, size)).await;
    }
    let by_size = Index::new(|map: &ConfigMap| map.data.as_ref().and_then(|data| data.get("size").cloned()));
    let (by_owner, by_label) = (Index::owners(), Index::labels());
    let writer = CompactWriter::<ConfigMap>::new(());
    let writer = writer.with_index(&by_size).with_index(&by_owner).with_index(&by_label);
    let store = writer.as_reader();
    let _filling = tokio::spawn(writer.watch(maps.clone(), Config::default()).for_each(|_| async {}));
    store.wait_until_ready().await.unwrap();
    assert_eq!(names(&store.by_index(&by_size, "1")), ["a", "c"]);
    assert_eq!(names(&store.owned_by(&owner)), ["a", "b", "c"]);
    let mut moved = with_size("a", "2");
    moved.labels_mut().insert("x".into(), "y".into());
    let written = maps.replace("a", &Default::default(), &moved).await.unwrap();
    store.wait_for(&written).await.unwrap();
    assert_eq!(names(&store.by_index(&by_size, "1")), ["c"]);
    assert_eq!(names(&store.by_index(&by_size, "2")), ["a", "b"]);
    assert_eq!(names(&store.state_filter_selector(&"x=y".parse().unwrap())), ["a"]);
    maps.remove("b").await;
    eventually(async || store.len() == 2).await;
    assert_eq!(names(&store.owned_by(&owner)), ["a", "c"]);
    let undeclared = Index::new(|map: &ConfigMap| Some(map.name_any()));
    assert_eq!(names(&store.by_index(&undeclared, "c")), ["c"]);
}

#[tokio::test]
async fn kinds_may_be_dynamic_or_metadata() {
    let (_server, client) = server();
    config_maps(&client).add(labelled::<ConfigMap>("a", ("x", "y"))).await;
    let kind = ApiResource::erase::<ConfigMap>(&());
    let writer = CompactWriter::<DynamicObject>::new(kind.clone());
    let dynamic = writer.as_reader();
    let maps = Api::default_namespaced_with(client.clone(), &kind);
    let _filling = tokio::spawn(writer.watch(maps, Config::default()).for_each(|_| async {}));
    dynamic.wait_until_ready().await.unwrap();
    let object = dynamic.get(&ObjectRef::new_with("a", kind).within("default")).unwrap();
    assert_eq!(object.types.as_ref().map(|types| types.kind.as_str()), Some("ConfigMap"));

    let (metadata, writer) = reflector::compact_store::<PartialObjectMeta<ConfigMap>>();
    let maps = Api::default_namespaced(client);
    let _filling = tokio::spawn(writer.watch(maps, Config::default()).for_each(|_| async {}));
    metadata.wait_until_ready().await.unwrap();
    let object = metadata.get(&ObjectRef::new("a").within("default")).unwrap();
    assert_eq!(object.labels()["x"], "y");
    assert_eq!(object.types.as_ref().map(|types| types.kind.as_str()), Some("PartialObjectMetadata"));
}

#[tokio::test]
async fn pruned_fields_are_skipped_when_objects_are_read() {
    let (_server, client) = server();
    let mut map: ConfigMap = named("a");
    map.data = Some([("size".to_owned(), "7".to_owned())].into());
    assert!(config_maps(&client).add(map).await.metadata.managed_fields.is_some());
    let config = Config::default().without_managed_fields().prune(Prune::default().path(["data"]));
    let (store, _filling) = filled(&client, config).await;
    let map = store.get(&key("a")).unwrap();
    assert_eq!((map.metadata.managed_fields.as_ref(), map.data.as_ref()), (None, None));
    assert!(map.uid().is_some());
}

/// A server with one list and the changes after it.
fn scripted(items: Vec<Value>, changes: Vec<Value>) -> Client {
    let lines: Vec<Value> = changes;
    let (client, _log) =
        scripted_server(move |_, _| list("10", &items), move |_, _| watch_response(&lines, idle()));
    client
}

#[tokio::test(start_paused = true)]
async fn an_undecodable_object_is_an_error_of_its_read_and_of_the_watch() {
    let items = vec![object("good", "1"), undecodable("listed", "2"), object("changed", "3")];
    let client = scripted(
        items,
        vec![event("MODIFIED", undecodable("changed", "11")), event("MODIFIED", object("good", "12"))],
    );
    let (store, writer) = reflector::compact_store::<ConfigMap>();
    let mut events = writer.watch(config_maps(&client), Config::default()).boxed();
    while !store.is_ready() {
        expect_next(&mut events).await.unwrap();
    }
    let error = store.try_get(&key("listed")).unwrap_err().to_string();
    assert!(error.starts_with("listed is in the store but cannot be decoded: "), "{error}");
    assert!(error.contains("data"), "{error}");
    assert_eq!(names(&store.state()), ["changed", "good"], "the others are readable");
    assert_eq!(store.len(), 3, "it exists");
    assert!(store.get(&key("listed")).is_none() && store.find(|map| map.name_any() == "listed").is_none());

    let error = expect_next(&mut events).await.unwrap_err();
    let error = ErrorChain(&error).to_string();
    assert!(error.contains("changed: ConfigMap.data"), "{error}");
    let retained = store.get(&key("changed")).unwrap();
    assert_eq!(retained.resource_version().as_deref(), Some("3"), "its last readable state");
    assert!(matches!(expect_next(&mut events).await, Ok(Event::Apply(good)) if good.name == "good"));
}

#[tokio::test(start_paused = true)]
async fn a_controller_reports_an_undecodable_object_and_reconciles_the_others() {
    let client = scripted(vec![undecodable("bad", "1"), object("good", "2")], Vec::new());
    let output = Controller::new(config_maps(&client), Config::default().compact_cache()).run(
        async |_: Arc<ConfigMap>, _| Ok::<_, Infallible>(Action::await_change()),
        wait_for_change,
        Arc::new(()),
    );
    let mut items: Vec<String> = output
        .take(2)
        .map(|item| item.map_or_else(|error| error.to_string(), |(object, _)| object.name))
        .collect()
        .await;
    items.sort();
    assert_eq!(items[0], "good");
    assert!(items[1].contains("ConfigMap.v1./bad cannot be decoded: "), "{}", items[1]);
}

/// How often the reconciler runs while an object is created, labelled and given data.
async fn reconciles(filter: impl FnOnce(Controller<ConfigMap>) -> Controller<ConfigMap>) -> usize {
    let patches = [json!({ "metadata": { "labels": { "x": "1" } } }), json!({ "data": { "size": "1" } })];
    reconciles_after(patches, Config::default(), filter).await
}

/// How often the reconciler runs while an object is created and patched.
async fn reconciles_after<const N: usize>(
    patches: [Value; N],
    config: Config,
    filter: impl FnOnce(Controller<ConfigMap>) -> Controller<ConfigMap>,
) -> usize {
    let (_server, client) = server();
    let maps = config_maps(&client);
    maps.add(named::<ConfigMap>("a")).await;
    let controller = filter(Controller::new(maps.clone(), config.compact_cache()));
    let (store, count) = (controller.store(), Arc::new(AtomicUsize::new(0)));
    let output = controller.run(
        async |_: Arc<ConfigMap>, count: Arc<AtomicUsize>| {
            count.fetch_add(1, Ordering::Relaxed);
            Ok::<_, Infallible>(Action::await_change())
        },
        wait_for_change,
        Arc::clone(&count),
    );
    let running = tokio::spawn(output.for_each(|item| async move { drop(item.unwrap()) }));
    store.wait_until_ready().await.unwrap();
    eventually(async || count.load(Ordering::Relaxed) == 1).await;
    let patch = |patch: Value| {
        let (maps, store) = (maps.clone(), store.clone());
        async move {
            let patch = kube_core::params::Patch::Merge(patch);
            let written = maps.patch("a", &Default::default(), &patch).await.unwrap();
            store.wait_for(&written).await.unwrap();
            tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        }
    };
    for change in patches {
        patch(change).await;
    }
    running.abort();
    count.load(Ordering::Relaxed)
}

#[tokio::test(start_paused = true)]
async fn predicates_see_the_object_or_only_its_metadata() {
    let size = |map: &ConfigMap| Some(map.data.as_ref().map_or(0, |data| data.len() as u64));
    assert_eq!(reconciles(|controller| controller).await, 3);
    assert_eq!(reconciles(|controller| controller.filter_metadata(predicates::labels)).await, 2);
    assert_eq!(reconciles(|controller| controller.filter(size)).await, 2);
    assert_eq!(reconciles(|controller| controller.filter(size.combine(predicates::labels))).await, 3);
    let name = |map: &PartialObjectMeta<ConfigMap>| {
        Some(map.meta().name.as_ref().map_or(0, |name| name.len() as u64))
    };
    assert_eq!(reconciles(|controller| controller.filter_metadata(name)).await, 1);
}

#[tokio::test(start_paused = true)]
async fn predicates_do_not_see_pruned_metadata() {
    let annotated = |key: &str| json!({ "metadata": { "annotations": { key: "1" } } });
    let patches = || [annotated("own"), annotated("kubectl.kubernetes.io/last-applied-configuration")];
    let pruned = || Config::default().prune(Prune::default().last_applied());
    let of_metadata = |controller: Controller<ConfigMap>| controller.filter_metadata(predicates::annotations);
    let of_object = |controller: Controller<ConfigMap>| controller.filter(predicates::annotations);
    assert_eq!(reconciles_after(patches(), Config::default(), of_metadata).await, 3);
    assert_eq!(reconciles_after(patches(), pruned(), of_object).await, 2);
    assert_eq!(reconciles_after(patches(), pruned(), of_metadata).await, 2);
}

#[tokio::test]
async fn a_controller_for_namespaces_may_keep_its_objects_compact() {
    let (_server, client) = server();
    for namespace in ["shop", "stage"] {
        let namespaces = Api::<Namespace>::all(client.clone());
        namespaces.create(&PostParams::default(), &named(namespace)).await.unwrap();
        Api::<ConfigMap>::namespaced(client.clone(), namespace).add(named::<ConfigMap>("a")).await;
    }
    let config = Config::default().compact_cache();
    let controller = in_namespaces::<ConfigMap>(client, ["shop", "stage"], config);
    let store = controller.store();
    let output = controller.run(
        async |_: Arc<ConfigMap>, _| Ok::<_, Infallible>(Action::await_change()),
        wait_for_change,
        Arc::new(()),
    );
    let mut namespaces: Vec<_> =
        output.take(2).map(|item| item.unwrap().0.namespace.unwrap()).collect().await;
    namespaces.sort();
    assert_eq!(namespaces, ["shop", "stage"]);
    assert_eq!(store.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn owned_objects_may_be_kept_compact() {
    let (_server, client) = server();
    let (maps, secrets) = (config_maps(&client), Api::<Secret>::default_namespaced(client.clone()));
    let owner = maps.add(named::<ConfigMap>("owner")).await;
    secrets.add(owned::<Secret, _>("first", &owner)).await;
    let (children, writer) = reflector::compact_store::<Secret>();
    let output = Controller::new(maps.clone(), Config::default())
        .owns_related(Related::metadata(secrets.clone(), Config::default()).compact_store(writer))
        .run(
            async |owner: Arc<ConfigMap>, children: Arc<Store<Secret>>| {
                assert!(!children.owned_by(&*owner).is_empty());
                Ok::<_, Infallible>(Action::await_change())
            },
            wait_for_change,
            Arc::new(children.clone()),
        );
    let mut output = Box::pin(output);
    assert_eq!(expect_next(&mut output).await.unwrap().0.name, "owner");
    secrets.add(owned::<Secret, _>("second", &owner)).await;
    assert_eq!(expect_next(&mut output).await.unwrap().0.name, "owner");
    let mut names: Vec<_> = children.owned_by(&owner).iter().map(|child| child.name_any()).collect();
    names.sort();
    assert_eq!(names, ["first", "second"]);
    secrets.remove("first").await;
    assert_eq!(expect_next(&mut output).await.unwrap().0.name, "owner");
    assert_eq!(children.owned_by(&owner).len(), 1);
}
