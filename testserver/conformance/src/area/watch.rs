//! Watch: where it starts, what it sends, when it ends.

use serde_json::{Value, json};

use crate::{
    case::{Case, custom, each},
    check::{Outcome, at, equal, holds},
    context::Context,
    kinds::COG,
};

pub(crate) fn cases() -> Vec<Case> {
    [
        each("watch/from-list-version", "a watch from a list's resourceVersion sends later changes only", from_list),
        each("watch/added-modified-deleted", "create, update and delete give ADDED, MODIFIED, DELETED in order", lifecycle),
        each("watch/event-versions-grow", "resourceVersions of events grow", versions_grow),
        each("watch/deleted-has-last-state", "DELETED carries the last state with the resourceVersion of the deletion", deleted_state),
        each("watch/without-version-sends-existing", "a watch without resourceVersion starts with ADDED of what exists", without_version),
        each("watch/from-0-sends-existing", "a watch from 0 starts with ADDED of what exists", from_zero),
        each("watch/from-object-version", "a watch from an object's resourceVersion does not send that write", from_object),
        each("watch/replays-history", "a watch from an older version replays every change since, in order", replay),
        each("watch/too-old-410", "a watch from a resourceVersion older than the history: 410 Expired as an ERROR event or as the response; within the history, all events", too_old),
        each("watch/invalid-version", "a watch from a resourceVersion that is no number: 500, naming it", invalid_version),
        each("watch/object-path-ignores-watch", "watch=1 on an object's path is ignored: the object is returned", one_object),
        each("watch/field-selector-name", "a fieldSelector on metadata.name sends that object only", by_name),
        each("watch/across-namespaces", "a watch without namespace sees all namespaces", across),
        each("watch/own-namespace-only", "a watch of a namespace sees no events of another", own_namespace),
        custom("watch/cluster-scoped", "a cluster-scoped kind is watched", cluster_scoped),
        each("watch/finalizer-modified-then-deleted", "delete with a finalizer: MODIFIED with deletionTimestamp, then DELETED", finalizer),
        each("watch/no-op-is-silent", "an update without a change sends nothing", no_op_silent),
        each("watch/timeout-seconds-ends", "timeoutSeconds ends the stream cleanly", timeout),
        each("watch/collection-delete", "DELETE of a collection sends DELETED for each object", collection_delete),
        each("watch/objects-carry-kind", "objects in events carry kind and apiVersion, built-in kinds too", carries_kind),
        each("watch/content-type", "the content type of a watch is application/json", content_type),
        each("watch/label-moves-in", "an object that starts to match the labelSelector is ADDED", moves_in),
        each("watch/label-moves-out", "an object that no longer matches the labelSelector is DELETED, with its state before the change and the resourceVersion of the change", moves_out),
        each("watch/label-stays-out", "changes outside the labelSelector send nothing", stays_out),
        each("watch/label-stays-in", "a change inside the labelSelector is MODIFIED", stays_in),
        each("watch/several-watchers", "every watcher sees every event", several),
    ]
    .concat()
}

/// A watch from the resourceVersion of a list.
async fn from_now(cx: &Context, query: &str) -> Result<crate::client::Watch, crate::check::Failure> {
    let revision = cx.get(cx.all()).await?.revision()?;
    cx.watch(format!("{}?watch=true&resourceVersion={revision}{query}", cx.all())).await
}

fn labeled(cx: &Context, name: &str, x: &str) -> Value {
    cx.object_of(cx.kind(), name, json!({"metadata": {"labels": {"x": x}}}))
}

async fn from_list(cx: Context) -> Outcome {
    cx.create("old").await?;
    let mut watch = from_now(&cx, "").await?;
    cx.create("new").await?;
    watch.expect("ADDED", "new").await?;
    Ok(())
}

async fn lifecycle(cx: Context) -> Outcome {
    let mut watch = from_now(&cx, "").await?;
    cx.create("a").await?;
    cx.merge(cx.one("a"), &json!({"spec": {"leaseTransitions": 2}})).await?.is(200)?;
    cx.delete(cx.one("a")).await?.is(200)?;
    at(&watch.expect("ADDED", "a").await?, "/spec/leaseTransitions", 1)?;
    at(&watch.expect("MODIFIED", "a").await?, "/spec/leaseTransitions", 2)?;
    watch.expect("DELETED", "a").await?;
    Ok(())
}

async fn versions_grow(cx: Context) -> Outcome {
    let mut watch = from_now(&cx, "").await?;
    let made = cx.create("a").await?.revision()?;
    cx.merge(cx.one("a"), &json!({"spec": {"leaseTransitions": 2}})).await?.is(200)?;
    cx.delete(cx.one("a")).await?.is(200)?;
    let mut versions = Vec::new();
    for kind in ["ADDED", "MODIFIED", "DELETED"] {
        versions.push(number(&watch.expect(kind, "a").await?));
    }
    equal("version of ADDED", made.parse::<u64>().ok(), Some(versions[0]))?;
    holds(
        versions.is_sorted() && versions[0] < versions[1] && versions[1] < versions[2],
        "growing",
        format!("{versions:?}"),
    )
}

async fn deleted_state(cx: Context) -> Outcome {
    let last = number(&cx.create("a").await?.body);
    let mut watch = from_now(&cx, "").await?;
    cx.delete(cx.one("a")).await?.is(200)?;
    let object = watch.expect("DELETED", "a").await?;
    at(&object, "/spec/holderIdentity", "first")?;
    holds(number(&object) > last, &format!("above {last}"), number(&object))
}

async fn without_version(cx: Context) -> Outcome {
    cx.create_all(&["a", "b"]).await?;
    let mut watch = cx.watch(format!("{}?watch=1", cx.all())).await?;
    let mut names = Vec::new();
    for _ in 0..2 {
        let event = watch.next().await?.unwrap_or_default();
        at(&event, "/type", "ADDED")?;
        names.push(event["object"]["metadata"]["name"].to_string());
    }
    names.sort();
    equal("names that exist", ["\"a\"", "\"b\""], names)?;
    cx.create("c").await?;
    watch.expect("ADDED", "c").await?;
    Ok(())
}

async fn from_zero(cx: Context) -> Outcome {
    cx.create("a").await?;
    let path = format!("{}?resourceVersion=0", cx.all());
    cx.wait_for(&path, "one item", |r| r.names().is_ok_and(|n| n.len() == 1)).await?;
    let mut watch = cx.watch(format!("{}?watch=1&resourceVersion=0", cx.all())).await?;
    watch.expect("ADDED", "a").await?;
    cx.create("b").await?;
    watch.expect("ADDED", "b").await?;
    Ok(())
}

async fn from_object(cx: Context) -> Outcome {
    let revision = cx.create("a").await?.revision()?;
    let mut watch = cx.watch(format!("{}?watch=1&resourceVersion={revision}", cx.all())).await?;
    cx.merge(cx.one("a"), &json!({"spec": {"leaseTransitions": 2}})).await?.is(200)?;
    watch.expect("MODIFIED", "a").await?;
    Ok(())
}

async fn replay(cx: Context) -> Outcome {
    let revision = cx.create("a").await?.revision()?;
    for n in 2..5 {
        cx.merge(cx.one("a"), &json!({"spec": {"leaseTransitions": n}})).await?.is(200)?;
    }
    cx.create("b").await?;
    cx.delete(cx.one("a")).await?.is(200)?;
    let mut watch = cx.watch(format!("{}?watch=1&resourceVersion={revision}", cx.all())).await?;
    for n in 2..5 {
        at(&watch.expect("MODIFIED", "a").await?, "/spec/leaseTransitions", n)?;
    }
    watch.expect("ADDED", "b").await?;
    watch.expect("DELETED", "a").await?;
    Ok(())
}

/// A server that was started minutes ago may still have its whole history: then nothing is too old, and the watch starts with the first
/// change.
async fn too_old(cx: Context) -> Outcome {
    cx.create("a").await?;
    let path = format!("{}?watch=1&resourceVersion=1&timeoutSeconds=3", cx.all());
    let r = cx.get(path).await?;
    let first: Value = serde_json::from_str(r.text.lines().next().unwrap_or_default()).unwrap_or_default();
    if r.code == 200 && first["type"] != "ERROR" {
        at(&first, "/type", "ADDED")?;
        return at(&first, "/object/metadata/name", "a");
    }
    let status = if r.code == 200 { first["object"].clone() } else { r.body.clone() };
    at(&status, "/kind", "Status")?;
    at(&status, "/code", 410)?;
    at(&status, "/reason", "Expired")?;
    holds(
        status["message"].as_str().is_some_and(|m| m.starts_with("too old resource version: 1 (")),
        "too old resource version: 1 (N)",
        status,
    )
}

async fn invalid_version(cx: Context) -> Outcome {
    let r = cx.get(format!("{}?watch=1&resourceVersion=abc", cx.all())).await?;
    r.is(500)?.eq("/status", "Failure")?.mentions("Invalid value: \"abc\"")?;
    Ok(())
}

async fn one_object(cx: Context) -> Outcome {
    cx.create("a").await?;
    cx.get(format!("{}?watch=1", cx.one("a"))).await?.is(200)?.eq("/kind", cx.kind().kind)?;
    Ok(())
}

async fn by_name(cx: Context) -> Outcome {
    let mut watch = from_now(&cx, "&fieldSelector=metadata.name%3Db").await?;
    cx.create_all(&["a", "b"]).await?;
    watch.expect("ADDED", "b").await?;
    Ok(())
}

async fn across(cx: Context) -> Outcome {
    let name = format!("across-{}", cx.ns);
    let revision = cx.get(cx.all()).await?.revision()?;
    let path = format!(
        "{}?watch=1&resourceVersion={revision}&fieldSelector=metadata.name%3D{name}",
        cx.everywhere()
    );
    let mut watch = cx.watch(path).await?;
    cx.create(&name).await?;
    at(&watch.expect("ADDED", &name).await?, "/metadata/namespace", cx.ns.clone())
}

async fn own_namespace(cx: Context) -> Outcome {
    let mut watch = from_now(&cx, "").await?;
    cx.create_at(cx.all_of(&crate::kinds::GADGET), &cx.gadget("g", json!({"size": 1}))).await?;
    cx.create("a").await?;
    at(&watch.expect("ADDED", "a").await?, "/metadata/namespace", cx.ns.clone())
}

async fn cluster_scoped(cx: Context) -> Outcome {
    let name = cx.ns.clone();
    let revision = cx.get(cx.all_of(&COG)).await?.revision()?;
    let path = format!(
        "{}?watch=1&resourceVersion={revision}&fieldSelector=metadata.name%3D{name}",
        cx.all_of(&COG)
    );
    let mut watch = cx.watch(path).await?;
    cx.create_at(cx.all_of(&COG), &cx.cog(&name, json!({}))).await?;
    watch.expect("ADDED", &name).await?;
    Ok(())
}

async fn finalizer(cx: Context) -> Outcome {
    let held = json!({"metadata": {"finalizers": ["conformance.example/hold"]}});
    cx.create_at(cx.all(), &cx.object_of(cx.kind(), "a", held)).await?;
    let mut watch = from_now(&cx, "").await?;
    cx.delete(cx.one("a")).await?.is(200)?;
    cx.merge(cx.one("a"), &json!({"metadata": {"finalizers": null}})).await?.is(200)?;
    let marked = watch.expect("MODIFIED", "a").await?;
    holds(marked["metadata"]["deletionTimestamp"].is_string(), "deletionTimestamp", &marked)?;
    watch.expect("DELETED", "a").await?;
    Ok(())
}

async fn no_op_silent(cx: Context) -> Outcome {
    cx.create("a").await?;
    let mut watch = from_now(&cx, "").await?;
    cx.merge(cx.one("a"), &json!({"spec": {"leaseTransitions": 1}})).await?.is(200)?;
    cx.create("b").await?;
    watch.expect("ADDED", "b").await?;
    Ok(())
}

async fn timeout(cx: Context) -> Outcome {
    let start = std::time::Instant::now();
    let mut watch = from_now(&cx, "&timeoutSeconds=1").await?;
    let end = watch.next().await?;
    equal("the end of the stream", None::<Value>, end)?;
    let took = start.elapsed().as_secs_f64();
    holds((0.5..5.0).contains(&took), "an end after about 1 s", took)
}

async fn collection_delete(cx: Context) -> Outcome {
    cx.create_all(&["a", "b"]).await?;
    let mut watch = from_now(&cx, "").await?;
    cx.delete(cx.all()).await?.is(200)?;
    let mut names = Vec::new();
    for _ in 0..2 {
        let event = watch.next().await?.unwrap_or_default();
        at(&event, "/type", "DELETED")?;
        names.push(event["object"]["metadata"]["name"].to_string());
    }
    names.sort();
    equal("deleted names", ["\"a\"", "\"b\""], names)
}

async fn carries_kind(cx: Context) -> Outcome {
    let mut watch = from_now(&cx, "").await?;
    cx.create("a").await?;
    let object = watch.expect("ADDED", "a").await?;
    at(&object, "/kind", cx.kind().kind)?;
    at(&object, "/apiVersion", cx.api_version(cx.kind()))
}

async fn content_type(cx: Context) -> Outcome {
    let watch = from_now(&cx, "").await?;
    let got = watch.headers.get("content-type").and_then(|v| v.to_str().ok()).unwrap_or_default();
    holds(got == "application/json", "application/json", got)
}

async fn moves_in(cx: Context) -> Outcome {
    cx.create_at(cx.all(), &labeled(&cx, "a", "no")).await?;
    let mut watch = from_now(&cx, "&labelSelector=x%3Dyes").await?;
    let version = number(&cx.merge(cx.one("a"), &json!({"metadata": {"labels": {"x": "yes"}}})).await?.body);
    let object = watch.expect("ADDED", "a").await?;
    equal("version of ADDED", version, number(&object))
}

async fn moves_out(cx: Context) -> Outcome {
    cx.create_at(cx.all(), &labeled(&cx, "a", "yes")).await?;
    let mut watch = from_now(&cx, "&labelSelector=x%3Dyes").await?;
    let version = number(&cx.merge(cx.one("a"), &json!({"metadata": {"labels": {"x": "no"}}})).await?.body);
    let object = watch.expect("DELETED", "a").await?;
    at(&object, "/metadata/labels/x", "yes")?;
    equal("version of DELETED", version, number(&object))
}

async fn stays_out(cx: Context) -> Outcome {
    cx.create_at(cx.all(), &labeled(&cx, "a", "no")).await?;
    let mut watch = from_now(&cx, "&labelSelector=x%3Dyes").await?;
    cx.merge(cx.one("a"), &json!({"metadata": {"labels": {"y": "1"}}})).await?.is(200)?;
    cx.delete(cx.one("a")).await?.is(200)?;
    cx.create_at(cx.all(), &labeled(&cx, "b", "yes")).await?;
    watch.expect("ADDED", "b").await?;
    Ok(())
}

async fn stays_in(cx: Context) -> Outcome {
    cx.create_at(cx.all(), &labeled(&cx, "a", "yes")).await?;
    let mut watch = from_now(&cx, "&labelSelector=x%3Dyes").await?;
    cx.merge(cx.one("a"), &json!({"metadata": {"labels": {"y": "1"}}})).await?.is(200)?;
    watch.expect("MODIFIED", "a").await?;
    Ok(())
}

async fn several(cx: Context) -> Outcome {
    let mut watches = Vec::new();
    for _ in 0..4 {
        watches.push(from_now(&cx, "").await?);
    }
    cx.create_all(&["a", "b", "c"]).await?;
    for watch in &mut watches {
        for name in ["a", "b", "c"] {
            watch.expect("ADDED", name).await?;
        }
    }
    Ok(())
}

fn number(object: &Value) -> u64 {
    object["metadata"]["resourceVersion"].as_str().and_then(|s| s.parse().ok()).unwrap_or(0)
}
