//! Which writes delay the next reconcile, and for how long.

use super::*;
use crate::{
    reflector::store::{Store, Writer, store},
    watcher::Event,
};
use k8s_openapi::{
    api::core::v1::{ConfigMap, Secret},
    apimachinery::pkg::apis::meta::v1::Time,
};
use kube_core::{ApiResource, DynamicObject, TypeMeta};
use std::future::poll_fn;
use tokio::{task::unconstrained, time::Instant};

fn meta(uid: &str, version: &str) -> ObjectMeta {
    ObjectMeta {
        name: Some("a".into()),
        uid: Some(uid.into()),
        resource_version: Some(version.into()),
        ..Default::default()
    }
}

fn object(uid: &str, version: &str) -> ConfigMap {
    ConfigMap { metadata: meta(uid, version), ..Default::default() }
}

fn dynamic(api_version: &str, kind: &str, uid: &str) -> DynamicObject {
    DynamicObject {
        types: Some(TypeMeta { api_version: api_version.into(), kind: kind.into() }),
        metadata: meta(uid, "10"),
        data: serde_json::Value::Null,
    }
}

fn store_with(object: &ConfigMap) -> (Store<ConfigMap>, Writer<ConfigMap>) {
    let (store, mut writer) = store();
    for event in [Event::Init, Event::InitApply(object.clone()), Event::InitDone] {
        writer.apply_watcher_event(&event);
    }
    (store, writer)
}

fn key() -> Arc<ObjectKey> {
    Arc::new(ObjectKey { namespace: None, name: "a".into() })
}

fn shown_by(store: &Store<ConfigMap>, awaited: Awaited) -> WritesShown {
    let mut shown = WritesShown::default();
    shown.add_wait(store.wait_until((*key()).clone(), awaited));
    shown
}

/// The pending writes after a reconcile of `object` wrote `written`.
fn pending(store: &Store<ConfigMap>, object: &ConfigMap, written: &WriteVersion) -> PendingWrites {
    let mut pending = PendingWrites::new(Duration::from_secs(10));
    if let Some(awaited) = written.awaited_after(object, &()) {
        pending.add(&key(), shown_by(store, awaited));
    }
    pending
}

fn is_visible(pending: &mut PendingWrites) -> bool {
    let parks = pending.park(&key(), ReconcileReason::Unknown).is_none();
    let mut visible = poll_fn(|cx| pending.poll_visible(cx));
    let wait = visible.poll_unpin(&mut Context::from_waker(futures::task::noop_waker_ref()));
    if let Poll::Ready((_, parked)) = &wait {
        assert!(parks && parked.is_some(), "the parked request is returned");
    }
    !parks || wait.is_ready()
}

#[tokio::test(start_paused = true)]
async fn a_write_becomes_visible_by_the_same_or_a_newer_state_or_a_later_deletion() {
    let old = object("1", "9");
    for (event, visible) in [
        (Event::Apply(object("1", "9")), false),
        (Event::Apply(object("1", "10")), true),
        (Event::Apply(object("1", "11")), true),
        (Event::Delete(object("1", "12")), true),
        (Event::Delete(object("1", "9")), false),
    ] {
        let (store, mut writer) = store_with(&old);
        let mut pending = pending(&store, &old, &WriteVersion::of(&object("1", "10")).unwrap());
        assert!(!is_visible(&mut pending));
        writer.apply_watcher_event(&event);
        assert_eq!(is_visible(&mut pending), visible, "{event}");
    }
    assert_eq!(WriteVersion::of(&ConfigMap::default()), None);
}

#[tokio::test(start_paused = true)]
async fn a_recreated_object_is_waited_for() {
    let old = object("1", "9");
    let (store, mut writer) = store_with(&old);
    let mut pending = pending(&store, &old, &WriteVersion::of(&object("2", "20")).unwrap());
    writer.apply_watcher_event(&Event::Delete(object("1", "15")));
    assert!(!is_visible(&mut pending), "the deletion of the old object does not show the new one");
    writer.apply_watcher_event(&Event::Apply(object("2", "20")));
    assert!(is_visible(&mut pending));
}

#[tokio::test(start_paused = true)]
async fn removing_the_last_finalizer_becomes_visible_by_the_deletion() {
    let mut last = object("1", "9");
    last.metadata.deletion_timestamp = Some(Time("2026-01-01T00:00:00Z".parse().unwrap()));
    let (store, mut writer) = store_with(&last);
    let written = |last: &ConfigMap| WriteVersion::of(last).unwrap();
    let mut end = pending(&store, &last, &written(&last));
    assert!(!is_visible(&mut end), "even if the server does not increase the resourceVersion");
    for (finalizers, seconds) in [(vec![], 30), (vec!["example.com/other".to_owned()], 0)] {
        let mut held = last.clone();
        held.metadata.finalizers = Some(finalizers);
        held.metadata.deletion_grace_period_seconds = Some(seconds);
        assert!(
            is_visible(&mut pending(&store, &last, &written(&held))),
            "the object still exists after this write"
        );
    }
    writer.apply_watcher_event(&Event::Delete(object("1", "12")));
    assert!(is_visible(&mut end));
    assert!(is_visible(&mut pending(&store, &last, &written(&last))), "it is deleted already");
}

#[test]
fn an_object_is_identified_by_group_kind_name_and_uid() {
    let written = |object: &DynamicObject| WriteVersion::of(object).unwrap();
    let map = object("1", "9");
    let waits = |object: &DynamicObject| written(object).awaited_after(&map, &()).is_some();
    assert!(waits(&dynamic("v1", "ConfigMap", "1")));
    assert!(waits(&dynamic("v1", "ConfigMap", "2")), "recreated");
    assert!(!waits(&dynamic("v1", "Secret", "2")));
    assert!(!waits(&dynamic("example.com/v1", "ConfigMap", "2")));
    let unknown = |uid| DynamicObject { types: None, ..dynamic("", "", uid) };
    assert!(waits(&unknown("1")) && !waits(&unknown("2")));

    let secrets = ApiResource::erase::<Secret>(&());
    let of_dynamic =
        |write: &WriteVersion| write.awaited_after(&dynamic("v1", "Secret", "1"), &secrets).is_some();
    let secret = Secret { metadata: meta("2", "10"), ..Secret::default() };
    assert!(of_dynamic(&written(&dynamic("v1", "Secret", "2"))));
    assert!(of_dynamic(&WriteVersion::of(&secret).unwrap()), "static and dynamic types are the same kind");
    assert!(!of_dynamic(&WriteVersion::of(&map).unwrap()));
    assert!(!of_dynamic(&written(&dynamic("v1", "ConfigMap", "2"))));

    let mut other_name = dynamic("v1", "ConfigMap", "2");
    other_name.metadata.name = Some("b".into());
    assert!(!waits(&other_name));
}

#[tokio::test(start_paused = true)]
async fn a_wait_times_out_and_its_parked_requests_are_merged() {
    let old = object("1", "9");
    let (store, _writer) = store_with(&old);
    let mut pending = pending(&store, &old, &WriteVersion::of(&object("1", "10")).unwrap());
    let start = Instant::now();
    assert!(pending.park(&key(), ReconcileReason::BulkReconcile).is_none() && pending.has_parked());
    assert!(pending.park(&key(), ReconcileReason::ObjectUpdated).is_none());
    let other = ObjectKey { namespace: None, name: "b".into() };
    assert!(pending.park(&other, ReconcileReason::Unknown).is_some());
    let (_, parked) = poll_fn(|cx| pending.poll_visible(cx)).await;
    assert_eq!(start.elapsed(), Duration::from_secs(10));
    assert_eq!(parked.unwrap().priority, Priority::Change, "the highest of their priorities");
    assert!(pending.parked.is_empty() && pending.waits.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_wait_ends_when_the_writer_is_dropped() {
    let old = object("1", "9");
    let (store, writer) = store_with(&old);
    let mut pending = pending(&store, &old, &WriteVersion::of(&object("1", "10")).unwrap());
    drop(writer);
    assert!(is_visible(&mut pending));
}

#[tokio::test(start_paused = true)]
async fn an_external_request_survives_merging_with_an_internal_one() {
    let old = object("1", "9");
    let (store, _writer) = store_with(&old);
    let (internal, external) = (ReconcileReason::ReconcilerRequestedRetry, ReconcileReason::ObjectUpdated);
    for reasons in [[internal.clone(), external.clone()], [external, internal]] {
        let mut pending = pending(&store, &old, &WriteVersion::of(&object("1", "10")).unwrap());
        reasons.into_iter().for_each(|reason| assert!(pending.park(&key(), reason).is_none()));
        pending.retain(|reason| !reason.is_internal());
        assert!(pending.has_parked());
    }
}

#[tokio::test(start_paused = true)]
async fn merged_requests_keep_the_reason_of_the_first_and_internal_ones_can_be_dropped() {
    let old = object("1", "9");
    let (store, _writer) = store_with(&old);
    let write = WriteVersion::of(&object("1", "10")).unwrap();
    let mut external = pending(&store, &old, &write);
    assert!(external.park(&key(), ReconcileReason::Custom { reason: "first".into() }).is_none());
    assert!(external.park(&key(), ReconcileReason::ObjectUpdated).is_none());
    let (_, parked) = poll_fn(|cx| external.poll_visible(cx)).await;
    assert_eq!(parked.unwrap().reason.to_string(), "first");

    let mut internal = pending(&store, &old, &write);
    assert!(internal.park(&key(), ReconcileReason::BulkReconcile).is_none() && internal.has_parked());
    internal.retain(|reason| !reason.is_internal());
    assert!(!internal.has_parked());
}

#[tokio::test(start_paused = true)]
async fn writes_that_are_visible_take_little_memory() {
    let old = object("1", "9");
    let (store, mut writer) = store_with(&old);
    let mut pending = PendingWrites::new(Duration::from_secs(10));
    let memory = allocation_counter::measure(|| {
        for number in 0..10_000 {
            let key = ObjectKey { namespace: None, name: number.to_string().into() };
            let awaited = WriteVersion::of(&object("1", "10")).unwrap().awaited_after(&old, &()).unwrap();
            let mut shown = WritesShown::default();
            shown.add_wait(store.wait_until(key.clone(), awaited));
            pending.add(&Arc::new(key.clone()), shown);
            assert!(pending.park(&key, ReconcileReason::Unknown).is_none());
        }
        writer.apply_watcher_event(&Event::Apply(object("1", "11")));
        let mut ended = 0;
        // Without tokio's budget of 128 polls in a row.
        while unconstrained(poll_fn(|cx| pending.poll_visible(cx))).now_or_never().is_some() {
            ended += 1;
        }
        assert_eq!(ended, 10_000);
    });
    assert!(memory.bytes_current < 30_000, "{memory:?}");
}
