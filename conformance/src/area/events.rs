//! Events: one kind under two names, `v1` and `events.k8s.io/v1`, whose members are called differently.

use serde_json::{Value, json};

use crate::{
    case::{Case, core},
    check::{Outcome, at, equal},
    context::Cx,
};

// One row a line: a table.
#[rustfmt::skip]
pub(crate) fn cases() -> Vec<Case> {
    [
        core("events/old-as-new", "an Event of v1 is there as one of events.k8s.io, its members renamed", old_as_new),
        core("events/new-as-old", "an Event of events.k8s.io is there as one of v1, its members renamed", new_as_old),
        core("events/same-object", "both names are one object: uid and resourceVersion are the same", same_object),
        core("events/watch", "a watch of one name sees what is written by the other, in its own version", watch),
        core("events/list", "a list of one name has what was written by the other", list),
        core("events/selectors", "each name has its own field selectors, and they find what the other wrote", selectors),
        core("events/foreign-selector-400", "a field by its other name: 400", foreign_selector),
        core("events/patch", "a patch by one name is seen by the other", patch),
        core("events/delete", "what is deleted by one name is gone for the other", delete),
        core("events/exists-409", "a name taken by one is taken for the other: 409 AlreadyExists", exists),
    ]
    .concat()
}

fn old_path(cx: &Cx) -> String {
    format!("/api/v1/namespaces/{}/events", cx.ns)
}

fn new_path(cx: &Cx) -> String {
    format!("/apis/events.k8s.io/v1/namespaces/{}/events", cx.ns)
}

fn about(cx: &Cx) -> Value {
    json!({"kind": "Pod", "name": "p", "namespace": cx.ns})
}

fn old(cx: &Cx, name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": name}, "involvedObject": about(cx), "reason": "R",
        "message": "m", "type": "Normal", "count": 3, "source": {"component": "c"}, "firstTimestamp": "2026-01-01T00:00:00Z"})
}

fn new(cx: &Cx, name: &str) -> Value {
    json!({"apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": name}, "regarding": about(cx), "reason": "R",
        "note": "n", "type": "Warning", "action": "A", "eventTime": "2026-01-01T00:00:00.000000Z",
        "reportingController": "x.io/c", "reportingInstance": "i"})
}

async fn old_as_new(cx: Cx) -> Outcome {
    cx.made(old_path(&cx), &old(&cx, "a")).await?;
    let shown = cx.get(format!("{}/a", new_path(&cx))).await?;
    shown.is(200)?.eq("/apiVersion", "events.k8s.io/v1")?.eq("/kind", "Event")?;
    for (pointer, want) in [
        ("/regarding", about(&cx)),
        ("/note", json!("m")),
        ("/reason", json!("R")),
        ("/type", json!("Normal")),
        ("/deprecatedCount", json!(3)),
        ("/deprecatedSource", json!({"component": "c"})),
        ("/deprecatedFirstTimestamp", json!("2026-01-01T00:00:00Z")),
    ] {
        at(&shown.body, pointer, want)?;
    }
    shown.absent("/message")?.absent("/involvedObject")?.absent("/count")?.absent("/reportingController")?;
    Ok(())
}

async fn new_as_old(cx: Cx) -> Outcome {
    cx.made(new_path(&cx), &new(&cx, "a")).await?;
    let shown = cx.get(format!("{}/a", old_path(&cx))).await?;
    shown.is(200)?.eq("/apiVersion", "v1")?.eq("/involvedObject", about(&cx))?.eq("/message", "n")?;
    shown.eq("/reportingComponent", "x.io/c")?.eq("/reportingInstance", "i")?.eq("/action", "A")?;
    shown.eq("/eventTime", "2026-01-01T00:00:00.000000Z")?.eq("/source", json!({}))?;
    shown.absent("/note")?.absent("/regarding")?;
    Ok(())
}

async fn same_object(cx: Cx) -> Outcome {
    let made = cx.made(old_path(&cx), &old(&cx, "a")).await?;
    let shown = cx.get(format!("{}/a", new_path(&cx))).await?;
    shown.eq("/metadata/uid", made.str("/metadata/uid")?)?;
    shown.eq("/metadata/resourceVersion", made.revision()?)?;
    Ok(())
}

async fn watch(cx: Cx) -> Outcome {
    let from = cx.get(new_path(&cx)).await?.revision()?;
    let mut watch = cx.watch(format!("{}?watch=1&resourceVersion={from}", new_path(&cx))).await?;
    cx.made(old_path(&cx), &old(&cx, "a")).await?;
    let event = watch.expect("ADDED", "a").await?;
    at(&event, "/apiVersion", "events.k8s.io/v1")?;
    at(&event, "/note", "m")
}

async fn list(cx: Cx) -> Outcome {
    cx.made(new_path(&cx), &new(&cx, "a")).await?;
    cx.made(old_path(&cx), &old(&cx, "b")).await?;
    cx.get(old_path(&cx)).await?.is(200)?.eq("/items/0/message", "n")?.eq("/items/1/message", "m")?;
    cx.get(new_path(&cx)).await?.is(200)?.eq("/items/0/note", "n")?.eq("/items/1/note", "m")?;
    Ok(())
}

async fn selectors(cx: Cx) -> Outcome {
    cx.made(new_path(&cx), &new(&cx, "a")).await?;
    cx.made(old_path(&cx), &old(&cx, "b")).await?;
    for (path, selector, want) in [
        (old_path(&cx), "involvedObject.name%3Dp", vec!["a", "b"]),
        (old_path(&cx), "reportingComponent%3Dx.io/c", vec!["a"]),
        (new_path(&cx), "regarding.name%3Dp", vec!["a", "b"]),
        (new_path(&cx), "regarding.name%3Dq", vec![]),
        (new_path(&cx), "reportingController%3Dx.io/c", vec!["a"]),
        (new_path(&cx), "type%3DNormal", vec!["b"]),
    ] {
        let reply = cx.get(format!("{path}?fieldSelector={selector}")).await?;
        let items = reply.is(200)?.body["items"].as_array().cloned().unwrap_or_default();
        let names: Vec<&str> = items.iter().filter_map(|item| item["metadata"]["name"].as_str()).collect();
        equal(selector, want, names)?;
    }
    Ok(())
}

async fn foreign_selector(cx: Cx) -> Outcome {
    for (path, field) in [(old_path(&cx), "regarding.name"), (new_path(&cx), "involvedObject.name")] {
        let reply = cx.get(format!("{path}?fieldSelector={field}%3Dp")).await?;
        reply.fails(400, "BadRequest")?.mentions(&format!("field label not supported: {field}"))?;
    }
    Ok(())
}

async fn patch(cx: Cx) -> Outcome {
    cx.made(old_path(&cx), &old(&cx, "a")).await?;
    let (old, new) = (format!("{}/a", old_path(&cx)), format!("{}/a", new_path(&cx)));
    cx.merge(&old, &json!({"count": 4, "message": "again"})).await?.is(200)?;
    cx.get(&new).await?.eq("/deprecatedCount", 4)?.eq("/note", "again")?;
    let labelled = cx.merge(&new, &json!({"metadata": {"labels": {"a": "b"}}})).await?;
    labelled.is(200)?.eq("/note", "again")?;
    cx.get(&old).await?.eq("/metadata/labels/a", "b")?.eq("/message", "again")?;
    Ok(())
}

async fn delete(cx: Cx) -> Outcome {
    cx.made(old_path(&cx), &old(&cx, "a")).await?;
    cx.delete(format!("{}/a", new_path(&cx))).await?.is(200)?;
    cx.get(format!("{}/a", old_path(&cx))).await?.fails(404, "NotFound")?;
    Ok(())
}

async fn exists(cx: Cx) -> Outcome {
    cx.made(old_path(&cx), &old(&cx, "a")).await?;
    cx.post(new_path(&cx), &new(&cx, "a")).await?.fails(409, "AlreadyExists")?;
    Ok(())
}
