//! Validation ratcheting: since 1.30, errors in unchanged fields are tolerated (KEP-4008).

use serde_json::{Value, json};

use crate::{
    case::{Case, custom, since},
    check::{Outcome, equal, holds},
    context::{Context, JSON_PATCH, pause},
    kinds,
    server::CRDS,
};

// One row per line.
#[rustfmt::skip]
pub(crate) fn cases() -> Vec<Case> {
    let row = |id: &str, rule: &str, change: Value, refused: Option<&'static str>| {
        let change = std::sync::Arc::new(change);
        since(30, custom(&format!("ratchet/{id}"), rule, move |cx| judged(cx, change.clone(), refused)))
    };
    [
        row("metadata", "labels change: the rest is tolerated", json!({"metadata": {"labels": {"a": "b"}}}), None),
        row("beside", "a field next to the invalid ones changes: tolerated", json!({"spec": {"fine": "other"}}), None),
        row("text-422", "a string that is too long changes to another that is too long: 422", json!({"spec": {"text": "still too long"}}), Some("spec.text")),
        row("mended", "a string that is too long changes to a short one: accepted", json!({"spec": {"text": "ok"}}), None),
        row("list-item-422", "an item of an atomic list stays invalid while the list changes: 422", json!({"spec": {"list": [9, 1]}}), Some("spec.list[0]")),
        row("map-list-item", "an item of a map list stays invalid in the same way, at another index: tolerated", json!({"spec": {"items": [{"k": "new", "v": 1}, {"k": "a", "v": 9}]}}), None),
        row("map-list-item-422", "an item of a map list becomes invalid in another way: 422", json!({"spec": {"items": [{"k": "a", "v": 8}]}}), Some("spec.items[0].v")),
        row("map-value", "a value of a map stays invalid while another changes: tolerated", json!({"spec": {"map": {"x": "new"}}}), None),
        row("set", "a set with duplicates gets one more element: tolerated", json!({"spec": {"set": ["a", "a", "b"]}}), None),
        row("required-422", "a missing required field of an object that changes: 422", json!({"spec": {"whole": {"other": "new"}}}), Some("spec.whole.must")),
        since(30, custom("ratchet/rule-warning", "a violated rule about an unchanged value: a warning, no error", warning)),
        custom("ratchet/create-422", "nothing is tolerated on create", create),
    ]
    .concat()
}

fn before() -> Value {
    json!({"type": "object", "properties": {
        "fine": {"type": "string"},
        "text": {"type": "string"},
        "list": {"type": "array", "items": {"type": "integer"}},
        "items": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
            "items": {"type": "object", "required": ["k"], "properties": {"k": {"type": "string"}, "v": {"type": "integer"}}}},
        "map": {"type": "object", "additionalProperties": {"type": "string"}},
        "set": {"type": "array", "items": {"type": "string"}},
        "whole": {"type": "object", "properties": {"must": {"type": "string"}, "other": {"type": "string"}}},
        "ruled": {"type": "string"},
    }})
}

fn after() -> Value {
    let mut schema = before();
    let fields = &mut schema["properties"];
    fields["text"]["maxLength"] = json!(5);
    fields["list"]["items"]["maximum"] = json!(3);
    fields["items"]["items"]["properties"]["v"]["maximum"] = json!(3);
    fields["map"]["additionalProperties"]["maxLength"] = json!(5);
    fields["set"]["x-kubernetes-list-type"] = json!("set");
    fields["whole"]["required"] = json!(["must"]);
    fields["ruled"]["maxLength"] = json!(20);
    fields["ruled"]["x-kubernetes-validations"] = json!([{"rule": "self != 'bad'", "message": "not bad"}]);
    schema
}

fn thing(cx: &Context, name: &str, spec: Value) -> Value {
    let api_version = format!("{}/v1", cx.own_group());
    json!({"apiVersion": api_version, "kind": "Thing", "metadata": {"name": name}, "spec": spec})
}

/// Creates an object under the loose schema, then activates the strict one. Returns its path.
async fn left_over(cx: &Context) -> Result<String, crate::check::Failure> {
    let schema = |spec: Value| json!({"type": "object", "properties": {"spec": spec}});
    cx.establish(&kinds::plain_crd(&cx.own_group(), "Thing", "things", schema(before()))).await?;
    let all = cx.own("v1", "things");
    let spec = json!({"fine": "f", "text": "too long", "list": [9], "items": [{"k": "a", "v": 9}], "set": ["a", "a"],
        "map": {"w": "too long", "x": "ok"}, "whole": {"other": "o"}, "ruled": "bad"});
    cx.create_at(&all, &thing(cx, "a", spec)).await?;
    let patch = json!([{"op": "replace", "path": "/spec/versions/0/schema/openAPIV3Schema/properties/spec", "value": after()}]);
    cx.patch(format!("{CRDS}/things.{}", cx.own_group()), JSON_PATCH, &patch).await?.is(200)?;
    // The new schema is active once it refuses.
    let until = tokio::time::Instant::now() + cx.server.wait;
    let probe = thing(cx, "probe", json!({"text": "too long"}));
    while cx.post(format!("{all}?dryRun=All"), &probe).await?.code != 422
        && tokio::time::Instant::now() < until
    {
        pause(100).await;
    }
    Ok(format!("{all}/a"))
}

async fn judged(cx: Context, change: std::sync::Arc<Value>, refused: Option<&str>) -> Outcome {
    let one = left_over(&cx).await?;
    let reply = cx.merge(&one, &change).await?;
    match refused {
        Some(field) => {
            let named = reply.fails(422, "Invalid")?.body["details"]["causes"].to_string();
            holds(named.contains(&format!("\"{field}\"")), &format!("a cause of {field}"), named)
        }
        None => reply.is(200).map(drop),
    }
}

async fn warning(cx: Context) -> Outcome {
    let one = left_over(&cx).await?;
    let reply = cx.merge(&one, &json!({"spec": {"fine": "other"}})).await?;
    let warnings = reply.is(200)?.warnings();
    equal("the warnings", ["spec.ruled: Invalid value: \"bad\": not bad"], &warnings)
}

async fn create(cx: Context) -> Outcome {
    left_over(&cx).await?;
    let other = thing(&cx, "b", json!({"text": "too long"}));
    cx.post(cx.own("v1", "things"), &other).await?.fails(422, "Invalid")?.mentions("spec.text")?;
    Ok(())
}
