//! Which writes are waited for, and for how long.

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
use tokio::time::Instant;

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

fn filled(shown: &ConfigMap) -> (Store<ConfigMap>, Writer<ConfigMap>) {
    let (store, mut writer) = store();
    for event in [Event::Init, Event::InitApply(shown.clone()), Event::InitDone] {
        writer.apply_watcher_event(&event);
    }
    (store, writer)
}

fn key() -> Arc<ObjectKey> {
    Arc::new(ObjectKey { namespace: None, name: "a".into() })
}

/// What becomes of a reconcile of what the store shows that has written `written`.
fn pending(store: &Store<ConfigMap>, shown: &ConfigMap, written: &WriteVersion) -> PendingWrites {
    let mut pending = PendingWrites::new(Duration::from_secs(10));
    if let Some(awaited) = written.awaited_after(shown, &()) {
        pending.expect(&key(), store.wait_until((*key()).clone(), awaited));
    }
    pending
}

fn is_visible(pending: &mut PendingWrites) -> bool {
    let parks = pending.park(&key(), ReconcileReason::Unknown).is_none();
    let mut look = poll_fn(|cx| pending.poll_visible(cx));
    let over = look.poll_unpin(&mut Context::from_waker(futures::task::noop_waker_ref()));
    if let Poll::Ready((_, parked)) = &over {
        assert!(parks && parked.is_some(), "what asked meanwhile is kept");
    }
    !parks || over.is_ready()
}

#[tokio::test(start_paused = true)]
async fn a_write_is_visible_by_its_own_state_a_later_one_or_its_deletion() {
    let old = object("1", "9");
    for (event, visible) in [
        (Event::Apply(object("1", "9")), false),
        (Event::Apply(object("1", "10")), true),
        (Event::Apply(object("1", "11")), true),
        (Event::Delete(object("1", "12")), true),
        (Event::Delete(object("1", "9")), false),
    ] {
        let (store, mut writer) = filled(&old);
        let mut pending = pending(&store, &old, &WriteVersion::of(&object("1", "10")).unwrap());
        assert!(!is_visible(&mut pending));
        writer.apply_watcher_event(&event);
        assert_eq!(is_visible(&mut pending), visible, "{event}");
    }
    assert_eq!(WriteVersion::of(&ConfigMap::default()), None);
}

#[tokio::test(start_paused = true)]
async fn an_object_made_anew_is_waited_for() {
    let old = object("1", "9");
    let (store, mut writer) = filled(&old);
    let mut pending = pending(&store, &old, &WriteVersion::of(&object("2", "20")).unwrap());
    writer.apply_watcher_event(&Event::Delete(object("1", "15")));
    assert!(!is_visible(&mut pending), "neither the old one nor none is the new one");
    writer.apply_watcher_event(&Event::Apply(object("2", "20")));
    assert!(is_visible(&mut pending));
}

#[tokio::test(start_paused = true)]
async fn the_last_write_of_an_object_is_visible_when_it_is_gone() {
    let mut last = object("1", "9");
    last.metadata.deletion_timestamp = Some(Time("2026-01-01T00:00:00Z".parse().unwrap()));
    let (store, mut writer) = filled(&last);
    let written = |last: &ConfigMap| WriteVersion::of(last).unwrap();
    let mut end = pending(&store, &last, &written(&last));
    assert!(!is_visible(&mut end), "even if the server counts no further");
    for (finalizers, seconds) in [(vec![], 30), (vec!["example.com/other".to_owned()], 0)] {
        let mut held = last.clone();
        held.metadata.finalizers = Some(finalizers);
        held.metadata.deletion_grace_period_seconds = Some(seconds);
        assert!(is_visible(&mut pending(&store, &last, &written(&held))), "somebody has to let it go");
    }
    writer.apply_watcher_event(&Event::Delete(object("1", "12")));
    assert!(is_visible(&mut end));
    assert!(is_visible(&mut pending(&store, &last, &written(&last))), "it is gone already");
}

#[test]
fn an_object_is_told_by_group_kind_name_and_uid() {
    let written = |object: &DynamicObject| WriteVersion::of(object).unwrap();
    let map = object("1", "9");
    let waits = |object: &DynamicObject| written(object).awaited_after(&map, &()).is_some();
    assert!(waits(&dynamic("v1", "ConfigMap", "1")));
    assert!(waits(&dynamic("v1", "ConfigMap", "2")), "one that was made anew");
    assert!(!waits(&dynamic("v1", "Secret", "2")));
    assert!(!waits(&dynamic("example.com/v1", "ConfigMap", "2")));
    let unknown = |uid| DynamicObject { types: None, ..dynamic("", "", uid) };
    assert!(waits(&unknown("1")) && !waits(&unknown("2")));

    let secrets = ApiResource::erase::<Secret>(&());
    let of_dynamic =
        |write: &WriteVersion| write.awaited_after(&dynamic("v1", "Secret", "1"), &secrets).is_some();
    let secret = Secret { metadata: meta("2", "10"), ..Secret::default() };
    assert!(of_dynamic(&written(&dynamic("v1", "Secret", "2"))));
    assert!(of_dynamic(&WriteVersion::of(&secret).unwrap()), "typed or not");
    assert!(!of_dynamic(&WriteVersion::of(&map).unwrap()));
    assert!(!of_dynamic(&written(&dynamic("v1", "ConfigMap", "2"))));

    let mut other_name = dynamic("v1", "ConfigMap", "2");
    other_name.metadata.name = Some("b".into());
    assert!(!waits(&other_name));
}

#[tokio::test(start_paused = true)]
async fn a_wait_is_given_up_and_what_asked_meanwhile_is_one_request() {
    let old = object("1", "9");
    let (store, _writer) = filled(&old);
    let mut pending = pending(&store, &old, &WriteVersion::of(&object("1", "10")).unwrap());
    let start = Instant::now();
    assert!(pending.park(&key(), ReconcileReason::BulkReconcile).is_none() && pending.has_parked());
    assert!(pending.park(&key(), ReconcileReason::ObjectUpdated).is_none());
    let other = ObjectKey { namespace: None, name: "b".into() };
    assert!(pending.park(&other, ReconcileReason::Unknown).is_some());
    let (_, parked) = poll_fn(|cx| pending.poll_visible(cx)).await;
    assert_eq!(start.elapsed(), Duration::from_secs(10));
    assert_eq!(parked.unwrap().urgency, Urgency::Change, "as urgent as the most urgent of them");
    assert!(pending.parked.is_empty() && pending.waits.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_wait_ends_with_the_writer() {
    let old = object("1", "9");
    let (store, writer) = filled(&old);
    let mut pending = pending(&store, &old, &WriteVersion::of(&object("1", "10")).unwrap());
    drop(writer);
    assert!(is_visible(&mut pending));
}

#[tokio::test(start_paused = true)]
async fn a_request_of_somebody_else_survives_being_merged_with_an_own_one() {
    let old = object("1", "9");
    let (store, _writer) = filled(&old);
    let (own, genuine) = (ReconcileReason::ReconcilerRequestedRetry, ReconcileReason::ObjectUpdated);
    for reasons in [[own.clone(), genuine.clone()], [genuine, own]] {
        let mut pending = pending(&store, &old, &WriteVersion::of(&object("1", "10")).unwrap());
        reasons.into_iter().for_each(|reason| assert!(pending.park(&key(), reason).is_none()));
        pending.retain(|reason| !reason.is_own());
        assert!(pending.has_parked());
    }
}
