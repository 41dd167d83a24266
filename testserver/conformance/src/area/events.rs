//! Events: one kind in two groups, `v1` and `events.k8s.io/v1`, with different field names.

use serde_json::{Value, json};

use crate::{
    case::{Case, core, since},
    check::{Outcome, at, equal},
    client::ApiResponse,
    context::Context,
};

// One row per line.
#[rustfmt::skip]
pub(crate) fn cases() -> Vec<Case> {
    [
        core("events/old-as-new", "an Event of v1 is served as one of events.k8s.io, with its fields renamed", old_as_new),
        core("events/new-as-old", "an Event of events.k8s.io is served as one of v1, with its fields renamed", new_as_old),
        core("events/same-object", "both groups serve one object: uid and resourceVersion are the same", same_object),
        core("events/watch", "a watch of one API group sees what is written by the other, in its own version", watch),
        core("events/list", "a list of one group has what was written by the other", list),
        core("events/selectors", "each group has its own field selectors, which also match objects written by the other", selectors),
        core("events/foreign-selector-400", "a field selector of the other group: 400", foreign_selector),
        core("events/patch", "a patch by one group is visible in the other", patch),
        core("events/delete", "what is deleted in one group is gone in the other", delete),
        core("events/exists-409", "a name that exists in one group: 409 AlreadyExists in the other", exists),
        core("events/new-needs-422", "an Event of events.k8s.io has a time, a controller, an instance, an action, a reason and a type: 422", new_needs),
        core("events/new-needs-all-422", "all missing fields of an Event of events.k8s.io without a time are reported at once", new_needs_all),
        core("events/new-type-422", "the type of an Event of events.k8s.io is Normal or Warning", new_type),
        core("events/new-old-members-422", "an Event of events.k8s.io cannot be created with the fields of the old group", new_old_members),
        core("events/new-series-422", "a series has a count of at least two and a time", new_series),
        core("events/new-lengths-422", "strings of an Event with a time have maximum lengths", new_lengths),
        core("events/new-controller-422", "a reporting controller has a qualified name", new_controller),
        since(37, core("events/old-with-time-422", "an Event of v1 with a time needs the same fields as one of events.k8s.io, on update too", old_with_time)),
        core("events/old-without-time", "an Event of v1 without a time needs none of them", old_without_time),
        core("events/namespace-422", "an Event is in the namespace of its object", namespace),
        core("events/about-cluster", "an Event about a cluster-scoped object is in a namespace for cluster events", about_cluster),
    ]
    .concat()
}

fn old_path(cx: &Context) -> String {
    format!("/api/v1/namespaces/{}/events", cx.ns)
}

fn new_path(cx: &Context) -> String {
    format!("/apis/events.k8s.io/v1/namespaces/{}/events", cx.ns)
}

fn about(cx: &Context) -> Value {
    json!({"kind": "Pod", "name": "p", "namespace": cx.ns})
}

fn old(cx: &Context, name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": name}, "involvedObject": about(cx), "reason": "R",
        "message": "m", "type": "Normal", "count": 3, "source": {"component": "c"}, "firstTimestamp": "2026-01-01T00:00:00Z"})
}

fn new(cx: &Context, name: &str) -> Value {
    json!({"apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": name}, "regarding": about(cx), "reason": "R",
        "note": "n", "type": "Warning", "action": "A", "eventTime": "2026-01-01T00:00:00.000000Z",
        "reportingController": "x.io/c", "reportingInstance": "i"})
}

async fn old_as_new(cx: Context) -> Outcome {
    cx.create_at(old_path(&cx), &old(&cx, "a")).await?;
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

async fn new_as_old(cx: Context) -> Outcome {
    cx.create_at(new_path(&cx), &new(&cx, "a")).await?;
    let shown = cx.get(format!("{}/a", old_path(&cx))).await?;
    shown.is(200)?.eq("/apiVersion", "v1")?.eq("/involvedObject", about(&cx))?.eq("/message", "n")?;
    shown.eq("/reportingComponent", "x.io/c")?.eq("/reportingInstance", "i")?.eq("/action", "A")?;
    shown.eq("/eventTime", "2026-01-01T00:00:00.000000Z")?.eq("/source", json!({}))?;
    shown.absent("/note")?.absent("/regarding")?;
    Ok(())
}

async fn same_object(cx: Context) -> Outcome {
    let made = cx.create_at(old_path(&cx), &old(&cx, "a")).await?;
    let shown = cx.get(format!("{}/a", new_path(&cx))).await?;
    shown.eq("/metadata/uid", made.str("/metadata/uid")?)?;
    shown.eq("/metadata/resourceVersion", made.revision()?)?;
    Ok(())
}

async fn watch(cx: Context) -> Outcome {
    let from = cx.get(new_path(&cx)).await?.revision()?;
    let mut watch = cx.watch(format!("{}?watch=1&resourceVersion={from}", new_path(&cx))).await?;
    cx.create_at(old_path(&cx), &old(&cx, "a")).await?;
    let event = watch.expect("ADDED", "a").await?;
    at(&event, "/apiVersion", "events.k8s.io/v1")?;
    at(&event, "/note", "m")
}

async fn list(cx: Context) -> Outcome {
    cx.create_at(new_path(&cx), &new(&cx, "a")).await?;
    cx.create_at(old_path(&cx), &old(&cx, "b")).await?;
    cx.get(old_path(&cx)).await?.is(200)?.eq("/items/0/message", "n")?.eq("/items/1/message", "m")?;
    cx.get(new_path(&cx)).await?.is(200)?.eq("/items/0/note", "n")?.eq("/items/1/note", "m")?;
    Ok(())
}

async fn selectors(cx: Context) -> Outcome {
    cx.create_at(new_path(&cx), &new(&cx, "a")).await?;
    cx.create_at(old_path(&cx), &old(&cx, "b")).await?;
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

async fn foreign_selector(cx: Context) -> Outcome {
    for (path, field) in [(old_path(&cx), "regarding.name"), (new_path(&cx), "involvedObject.name")] {
        let reply = cx.get(format!("{path}?fieldSelector={field}%3Dp")).await?;
        reply.fails(400, "BadRequest")?.mentions(&format!("field label not supported: {field}"))?;
    }
    Ok(())
}

async fn patch(cx: Context) -> Outcome {
    cx.create_at(old_path(&cx), &old(&cx, "a")).await?;
    let (old, new) = (format!("{}/a", old_path(&cx)), format!("{}/a", new_path(&cx)));
    cx.merge(&old, &json!({"count": 4, "message": "again"})).await?.is(200)?;
    cx.get(&new).await?.eq("/deprecatedCount", 4)?.eq("/note", "again")?;
    let labelled = cx.merge(&new, &json!({"metadata": {"labels": {"a": "b"}}})).await?;
    labelled.is(200)?.eq("/note", "again")?;
    cx.get(&old).await?.eq("/metadata/labels/a", "b")?.eq("/message", "again")?;
    Ok(())
}

async fn delete(cx: Context) -> Outcome {
    cx.create_at(old_path(&cx), &old(&cx, "a")).await?;
    cx.delete(format!("{}/a", new_path(&cx))).await?.is(200)?;
    cx.get(format!("{}/a", old_path(&cx))).await?.fails(404, "NotFound")?;
    Ok(())
}

async fn exists(cx: Context) -> Outcome {
    cx.create_at(old_path(&cx), &old(&cx, "a")).await?;
    cx.post(new_path(&cx), &new(&cx, "a")).await?.fails(409, "AlreadyExists")?;
    Ok(())
}

/// The fields and reasons of the causes in a response, in order.
fn causes(reply: &ApiResponse) -> Vec<(String, String)> {
    let all = reply.body["details"]["causes"].as_array().cloned().unwrap_or_default();
    let text = |cause: &Value, member: &str| cause[member].as_str().unwrap_or_default().to_owned();
    all.iter().map(|cause| (text(cause, "field"), text(cause, "reason"))).collect()
}

fn refused(reply: &ApiResponse, want: &[(&str, &str)]) -> Outcome {
    reply.fails(422, "Invalid")?;
    let want: Vec<_> = want.iter().map(|(field, reason)| (field.to_string(), reason.to_string())).collect();
    equal("causes", want, causes(reply))
}

const INVALID: &str = "FieldValueInvalid";
const REQUIRED: &str = "FieldValueRequired";

async fn new_needs(cx: Context) -> Outcome {
    for field in ["reason", "action", "eventTime", "reportingInstance"] {
        let mut event = new(&cx, "a");
        event[field] = Value::Null;
        let reply = cx.post(new_path(&cx), &event).await?;
        refused(&reply, &[(field, REQUIRED)])?;
        reply.says(&format!("Event \"a\" is invalid: {field}: Required value"))?;
    }
    let mut event = new(&cx, "a");
    event["reportingController"] = Value::Null;
    cx.post(new_path(&cx), &event).await?.fails(422, "Invalid")?.cause(REQUIRED, "reportingController")?;
    event = new(&cx, "a");
    event["note"] = Value::Null;
    cx.create_at(new_path(&cx), &event).await?;
    Ok(())
}

async fn new_needs_all(cx: Context) -> Outcome {
    let reply = cx.post(new_path(&cx), &json!({"metadata": {"name": "a"}})).await?;
    refused(&reply, &[("involvedObject.namespace", INVALID), ("eventTime", REQUIRED), ("type", INVALID)])
}

async fn new_type(cx: Context) -> Outcome {
    for kind in ["Odd", ""] {
        let mut event = new(&cx, "a");
        event["type"] = kind.into();
        let reply = cx.post(new_path(&cx), &event).await?;
        refused(&reply, &[("type", INVALID)])?;
        reply.mentions(&format!("has invalid value: {kind}"))?;
    }
    Ok(())
}

async fn new_old_members(cx: Context) -> Outcome {
    let mut event = new(&cx, "a");
    let time = "2026-01-01T00:00:00Z";
    event["deprecatedFirstTimestamp"] = time.into();
    event["deprecatedLastTimestamp"] = time.into();
    event["deprecatedCount"] = 1.into();
    event["deprecatedSource"] = json!({"component": "c"});
    let reply = cx.post(new_path(&cx), &event).await?;
    let members = ["firstTimestamp", "lastTimestamp", "count", "source"];
    refused(&reply, &members.map(|member| (member, INVALID)))?;
    reply.mentions("firstTimestamp: Invalid value: \"\": needs to be unset")?;
    event["deprecatedCount"] = 0.into();
    event["deprecatedSource"] = json!({});
    event["deprecatedFirstTimestamp"] = Value::Null;
    event["deprecatedLastTimestamp"] = Value::Null;
    cx.create_at(new_path(&cx), &event).await?;
    // Once the namespace exists, Events can be created.
    cx.merge(format!("{}/a", old_path(&cx)), &json!({"count": 3})).await?.is(200)?;
    Ok(())
}

async fn new_series(cx: Context) -> Outcome {
    let mut event = new(&cx, "a");
    event["series"] = json!({"count": 0});
    let reply = cx.post(new_path(&cx), &event).await?;
    refused(&reply, &[("series.count", INVALID), ("series.lastObservedTime", REQUIRED)])?;
    event["series"] = json!({"count": 1, "lastObservedTime": "2026-01-01T00:00:00.000000Z"});
    refused(&cx.post(new_path(&cx), &event).await?, &[("series.count", INVALID)])?;
    event["series"]["count"] = 2.into();
    cx.create_at(new_path(&cx), &event).await?;
    Ok(())
}

async fn new_lengths(cx: Context) -> Outcome {
    let mut event = new(&cx, "a");
    for (field, length) in [("reportingInstance", 129), ("action", 129), ("reason", 129), ("note", 1025)] {
        event[field] = "x".repeat(length).into();
    }
    let reply = cx.post(new_path(&cx), &event).await?;
    refused(&reply, &["reportingInstance", "action", "reason", "message"].map(|field| (field, INVALID)))?;
    reply.mentions("can have at most 128 characters")?.mentions("can have at most 1024 characters")?;
    Ok(())
}

async fn new_controller(cx: Context) -> Outcome {
    for name in ["a b/c/d", "/b", "-b", "a/b_-"] {
        let mut event = new(&cx, "a");
        event["reportingController"] = name.into();
        refused(&cx.post(new_path(&cx), &event).await?, &[("reportingController", INVALID)])?;
    }
    Ok(())
}

async fn old_with_time(cx: Context) -> Outcome {
    let time = json!("2026-01-01T00:00:00.000000Z");
    let mut event = old(&cx, "a");
    event["eventTime"] = time.clone();
    let refused = |reply: &ApiResponse| -> Outcome {
        reply.fails(422, "Invalid")?.cause(REQUIRED, "reportingComponent")?;
        reply.cause(REQUIRED, "reportingInstance")?.cause(REQUIRED, "action")?;
        Ok(())
    };
    refused(&cx.post(old_path(&cx), &event).await?)?;
    cx.create_at(old_path(&cx), &old(&cx, "b")).await?;
    refused(&cx.merge(format!("{}/b", old_path(&cx)), &json!({"eventTime": time})).await?)?;
    for (field, text) in
        [("reportingComponent", "c"), ("reportingInstance", "i"), ("action", "A"), ("type", "Odd")]
    {
        event[field] = text.into();
    }
    cx.create_at(old_path(&cx), &event).await?;
    Ok(())
}

async fn old_without_time(cx: Context) -> Outcome {
    let event = json!({"metadata": {"name": "a"}, "involvedObject": about(&cx), "reason": "r".repeat(129), "series": {"count": 0}});
    cx.create_at(old_path(&cx), &event).await?;
    Ok(())
}

async fn namespace(cx: Context) -> Outcome {
    for about in
        [json!({"kind": "Pod", "name": "p", "namespace": "other"}), json!({"kind": "Pod", "name": "p"})]
    {
        let mut event = old(&cx, "a");
        event["involvedObject"] = about.clone();
        let reply = cx.post(old_path(&cx), &event).await?;
        refused(&reply, &[("involvedObject.namespace", INVALID)])?;
        let namespace = about["namespace"].as_str().unwrap_or_default();
        reply.mentions(&format!("Invalid value: {namespace:?}: does not match event.namespace"))?;
    }
    let mut event = new(&cx, "a");
    event["regarding"] = json!({"kind": "Pod", "name": "p", "namespace": "other"});
    cx.create_at(new_path(&cx), &event).await?;
    Ok(())
}

async fn about_cluster(cx: Context) -> Outcome {
    let name = format!("{}-about", cx.ns);
    let mut event = old(&cx, &name);
    event["involvedObject"] = json!({"kind": "Node", "name": "n"});
    cx.create_at("/api/v1/namespaces/default/events", &event).await?;
    cx.delete(format!("/api/v1/namespaces/default/events/{name}")).await?.is(200)?;
    let mut event = new(&cx, &name);
    event["regarding"] = json!({"kind": "Node", "name": "n"});
    refused(&cx.post(new_path(&cx), &event).await?, &[("involvedObject.namespace", INVALID)])?;
    cx.create_at("/apis/events.k8s.io/v1/namespaces/kube-system/events", &event).await?;
    cx.delete(format!("/apis/events.k8s.io/v1/namespaces/kube-system/events/{name}")).await?.is(200)?;
    Ok(())
}
