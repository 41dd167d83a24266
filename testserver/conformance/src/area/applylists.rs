//! Server-side apply on lists and maps of a declared type, on custom resources and built-in kinds.

use serde_json::{Value, json};

use crate::{
    case::{Case, core, custom},
    check::{Outcome, equal},
    context::Context,
    kinds::{CONFIG_MAP, DEPLOYMENT, SERVICE},
};

use super::{apply::fields, subresource::deployment};

pub(crate) fn cases() -> Vec<Case> {
    [
        custom(
            "applylists/atomic-list-replaced",
            "a list without a type belongs to one manager as a whole",
            atomic,
        ),
        custom(
            "applylists/atomic-list-conflict",
            "another manager's other atomic list is a conflict",
            atomic_conflict,
        ),
        custom("applylists/set-merged", "items of a set are merged", set_merged),
        custom("applylists/set-item-given-up", "an item omitted from a set is removed", set_given_up),
        custom("applylists/map-merged-by-key", "items of a map list are merged by key", map_merged),
        custom("applylists/map-fields-merged", "fields of one item may have several managers", map_fields),
        custom(
            "applylists/map-item-given-up",
            "an item of a map list that its only manager omits is removed",
            map_given_up,
        ),
        custom("applylists/map-managed-by-key", "managedFields name items by their key", map_managed),
        custom(
            "applylists/map-conflict-path",
            "a conflict inside a map list names the item by its key",
            map_conflict,
        ),
        custom("applylists/map-key-missing", "an applied item without its key is rejected", map_key_missing),
        custom(
            "applylists/map-duplicate-key",
            "an applied list with a duplicate key is rejected",
            map_duplicate,
        ),
        custom("applylists/granular-map-merged", "keys of a map are merged", granular),
        custom(
            "applylists/atomic-map-replaced",
            "an atomic map belongs to one manager as a whole",
            atomic_map,
        ),
        custom("applylists/order-of-applied-list", "the applied order of a map list is kept", order),
        custom("applylists/set-duplicate", "a set with a duplicate value is rejected", set_duplicate),
        core(
            "applylists/config-map-keys",
            "keys of a ConfigMap's data are merged between managers",
            config_map,
        ),
        core(
            "applylists/config-map-given-up",
            "a key of data that is omitted is removed",
            config_map_given_up,
        ),
        core("applylists/containers-by-name", "containers of a pod template are merged by name", containers),
        core("applylists/service-ports", "ports of a Service are keyed by port and protocol", service_ports),
        core("applylists/defaults-not-owned", "defaults of a built-in kind have no owner", defaults),
        core(
            "applylists/client-to-server-side",
            "an Update manager's fields and an Apply of the same values share",
            migrate,
        ),
    ]
    .concat()
}

async fn apply(
    cx: &Context,
    manager: &str,
    spec: Value,
) -> Result<crate::client::ApiResponse, crate::check::Failure> {
    cx.apply(cx.one("a"), manager, &cx.with_spec("a", spec)).await
}

async fn atomic(cx: Context) -> Outcome {
    apply(&cx, "one", json!({"steps": ["a", "b"]})).await?.is(201)?;
    let r = apply(&cx, "one", json!({"steps": ["b", "c"]})).await?;
    r.is(200)?.eq("/spec/steps", json!(["b", "c"]))?;
    equal("fields of one", json!({"f:spec": {"f:steps": {}}}), fields(&r, "one", "Apply"))
}

async fn atomic_conflict(cx: Context) -> Outcome {
    apply(&cx, "one", json!({"steps": ["a", "b"]})).await?.is(201)?;
    let r = apply(&cx, "two", json!({"steps": ["a"]})).await?;
    r.fails(409, "Conflict")?.cause("FieldManagerConflict", ".spec.steps")?;
    Ok(())
}

async fn set_merged(cx: Context) -> Outcome {
    apply(&cx, "one", json!({"tags": ["a", "b"]})).await?.is(201)?;
    let r = apply(&cx, "two", json!({"tags": ["c", "b"]})).await?;
    let mut tags: Vec<String> =
        r.is(200)?.body["spec"]["tags"].as_array().into_iter().flatten().map(Value::to_string).collect();
    tags.sort();
    equal("tags", ["\"a\"", "\"b\"", "\"c\""], tags)?;
    equal(
        "fields of two",
        json!({"f:spec": {"f:tags": {"v:\"b\"": {}, "v:\"c\"": {}}}}),
        fields(&r, "two", "Apply"),
    )
}

async fn set_given_up(cx: Context) -> Outcome {
    apply(&cx, "one", json!({"tags": ["a", "b"]})).await?.is(201)?;
    apply(&cx, "two", json!({"tags": ["c"]})).await?.is(200)?;
    apply(&cx, "one", json!({"tags": ["b"]})).await?.is(200)?.eq("/spec/tags", json!(["b", "c"]))?;
    Ok(())
}

async fn map_merged(cx: Context) -> Outcome {
    apply(&cx, "one", json!({"ports": [{"name": "a", "port": 1}]})).await?.is(201)?;
    let r = apply(&cx, "two", json!({"ports": [{"name": "b", "port": 2}]})).await?;
    r.is(200)?.eq("/spec/ports", json!([{"name": "a", "port": 1}, {"name": "b", "port": 2}]))?;
    Ok(())
}

async fn map_fields(cx: Context) -> Outcome {
    apply(&cx, "one", json!({"ports": [{"name": "a", "port": 1}]})).await?.is(201)?;
    apply(&cx, "two", json!({"ports": [{"name": "a", "note": "n"}]}))
        .await?
        .is(200)?
        .eq("/spec/ports", json!([{"name": "a", "port": 1, "note": "n"}]))?;
    let r = apply(&cx, "one", json!({})).await?;
    r.is(200)?.eq("/spec/ports", json!([{"name": "a", "note": "n"}]))?;
    Ok(())
}

async fn map_given_up(cx: Context) -> Outcome {
    apply(&cx, "one", json!({"ports": [{"name": "a", "port": 1}, {"name": "b", "port": 2}]}))
        .await?
        .is(201)?;
    apply(&cx, "one", json!({"ports": [{"name": "b", "port": 2}]}))
        .await?
        .is(200)?
        .eq("/spec/ports", json!([{"name": "b", "port": 2}]))?;
    Ok(())
}

async fn map_managed(cx: Context) -> Outcome {
    let r = apply(&cx, "one", json!({"ports": [{"name": "a", "port": 1}]})).await?;
    let item = json!({".": {}, "f:name": {}, "f:port": {}});
    equal(
        "fields of one",
        json!({"f:spec": {"f:ports": {"k:{\"name\":\"a\"}": item}}}),
        fields(&r, "one", "Apply"),
    )
}

async fn map_conflict(cx: Context) -> Outcome {
    apply(&cx, "one", json!({"ports": [{"name": "a", "port": 1}]})).await?.is(201)?;
    let r = apply(&cx, "two", json!({"ports": [{"name": "a", "port": 2}]})).await?;
    r.fails(409, "Conflict")?.cause("FieldManagerConflict", ".spec.ports[name=\"a\"].port")?;
    Ok(())
}

async fn map_key_missing(cx: Context) -> Outcome {
    let r = apply(&cx, "one", json!({"ports": [{"port": 1}]})).await?;
    r.is(500)?.mentions("element 0: associative list with keys has an element that omits ")?;
    Ok(())
}

async fn map_duplicate(cx: Context) -> Outcome {
    let r = apply(&cx, "one", json!({"ports": [{"name": "a"}, {"name": "a"}]})).await?;
    r.is(500)?.mentions("duplicate entries for key [name=\"a\"]")?;
    Ok(())
}

async fn granular(cx: Context) -> Outcome {
    apply(&cx, "one", json!({"settings": {"a": "1"}})).await?.is(201)?;
    apply(&cx, "two", json!({"settings": {"b": "2"}}))
        .await?
        .is(200)?
        .eq("/spec/settings", json!({"a": "1", "b": "2"}))?;
    Ok(())
}

async fn atomic_map(cx: Context) -> Outcome {
    apply(&cx, "one", json!({"sealed": {"a": "1"}})).await?.is(201)?;
    let r = apply(&cx, "two", json!({"sealed": {"b": "2"}})).await?;
    r.fails(409, "Conflict")?.cause("FieldManagerConflict", ".spec.sealed")?;
    apply(&cx, "one", json!({"sealed": {"c": "3"}})).await?.is(200)?.eq("/spec/sealed", json!({"c": "3"}))?;
    Ok(())
}

async fn order(cx: Context) -> Outcome {
    apply(&cx, "one", json!({"ports": [{"name": "c"}, {"name": "a"}, {"name": "b"}]})).await?.is(201)?;
    let r = cx.get(cx.one("a")).await?;
    r.eq("/spec/ports", json!([{"name": "c"}, {"name": "a"}, {"name": "b"}]))?;
    Ok(())
}

async fn set_duplicate(cx: Context) -> Outcome {
    let r = apply(&cx, "one", json!({"tags": ["a", "a"]})).await?;
    r.is(500)?.mentions("duplicate entries for key [=\"a\"]")?;
    Ok(())
}

async fn apply_data(
    cx: &Context,
    manager: &str,
    data: Value,
) -> Result<crate::client::ApiResponse, crate::check::Failure> {
    cx.apply(cx.one_of(&CONFIG_MAP, "a"), manager, &cx.object_of(&CONFIG_MAP, "a", json!({"data": data})))
        .await
}

async fn config_map(cx: Context) -> Outcome {
    apply_data(&cx, "one", json!({"a": "1"})).await?.is(201)?;
    let r = apply_data(&cx, "two", json!({"b": "2"})).await?;
    r.is(200)?.eq("/data", json!({"a": "1", "b": "2"}))?;
    equal("fields of two", json!({"f:data": {"f:b": {}}}), fields(&r, "two", "Apply"))
}

async fn config_map_given_up(cx: Context) -> Outcome {
    apply_data(&cx, "one", json!({"a": "1", "b": "2"})).await?.is(201)?;
    apply_data(&cx, "one", json!({"b": "2"})).await?.is(200)?.eq("/data", json!({"b": "2"}))?;
    Ok(())
}

async fn containers(cx: Context) -> Outcome {
    let path = cx.one_of(&DEPLOYMENT, "a");
    cx.apply(&path, "one", &deployment(&cx)).await?.is(201)?;
    let mut other = cx.object_of(&DEPLOYMENT, "a", json!({}));
    other["spec"]["template"]["spec"]["containers"] =
        json!([{"name": "c", "env": [{"name": "X", "value": "1"}]}]);
    let r = cx.apply(&path, "two", &other).await?;
    r.is(200)?.eq("/spec/template/spec/containers/0/image", "i")?;
    r.eq("/spec/template/spec/containers/0/env", json!([{"name": "X", "value": "1"}]))?;
    let mine = fields(&r, "two", "Apply");
    let container =
        "/f:spec/f:template/f:spec/f:containers/k:{\"name\":\"c\"}/f:env/k:{\"name\":\"X\"}/f:value";
    equal("the path of the value", Some(&json!({})), mine.pointer(container))
}

async fn service_ports(cx: Context) -> Outcome {
    let path = cx.one_of(&SERVICE, "a");
    let with = |port: u32, name: &str| {
        cx.object_of(
            &SERVICE,
            "a",
            json!({"spec": {"ports": [{"name": name, "port": port, "protocol": "TCP"}]}}),
        )
    };
    cx.apply(&path, "one", &with(80, "http")).await?.is(201)?;
    let r = cx.apply(&path, "two", &with(443, "https")).await?;
    r.is(200)?.eq("/spec/ports/0/port", 80)?.eq("/spec/ports/1/port", 443)?;
    let key = "/f:spec/f:ports/k:{\"port\":443,\"protocol\":\"TCP\"}/f:name";
    equal("the path of the name", Some(&json!({})), fields(&r, "two", "Apply").pointer(key))
}

async fn defaults(cx: Context) -> Outcome {
    let r = cx.apply(cx.one_of(&DEPLOYMENT, "a"), "one", &deployment(&cx)).await?;
    r.is(201)?.eq("/spec/template/spec/restartPolicy", "Always")?;
    let mine = fields(&r, "one", "Apply");
    equal(
        "restartPolicy in the set",
        None::<&Value>,
        mine.pointer("/f:spec/f:template/f:spec/f:restartPolicy"),
    )
}

async fn migrate(cx: Context) -> Outcome {
    let path = cx.one_of(&CONFIG_MAP, "a");
    let object = cx.object_of(&CONFIG_MAP, "a", json!({"data": {"a": "1"}}));
    cx.create_at(format!("{}?fieldManager=kubectl", cx.all_of(&CONFIG_MAP)), &object).await?;
    let r = cx.apply(&path, "kubectl", &object).await?;
    r.is(200)?;
    equal("of Apply", json!({"f:data": {"f:a": {}}}), fields(&r, "kubectl", "Apply"))?;
    equal("of Update", json!({"f:data": {".": {}, "f:a": {}}}), fields(&r, "kubectl", "Update"))
}
