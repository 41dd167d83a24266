//! Strategic merge patch on built-in kinds.

use serde_json::{Value, json};

use super::subresource::deployment;
use crate::{
    case::{Case, core},
    check::{Failure, Outcome, equal, holds},
    client::ApiResponse,
    context::{Context, STRATEGIC},
    kinds::{CONFIG_MAP, DEPLOYMENT, POD, SECRET, SERVICE},
};

pub(crate) fn cases() -> Vec<Case> {
    [
        core("strategic/sets-and-removes-keys", "keys of a map are set, null removes", map_keys),
        core("strategic/merges-list-by-key", "containers are merged by name", by_name),
        core("strategic/adds-to-keyed-list", "a container with a new name is added", adds),
        core("strategic/delete-directive", "$patch: delete removes an item by its key", delete_item),
        core("strategic/replace-directive", "$patch: replace replaces a list", replace_list),
        core("strategic/replace-map-directive", "$patch: replace replaces a map", replace_map),
        core("strategic/atomic-list-replaced", "a list without merge key is replaced", atomic),
        core("strategic/primitive-list-merged", "finalizers, a set of strings, are merged", primitives),
        core(
            "strategic/delete-from-primitive-list",
            "$deleteFromPrimitiveList removes values",
            delete_primitives,
        ),
        core("strategic/element-order", "$setElementOrder orders the merged list", order),
        core("strategic/retain-keys", "$retainKeys removes the other keys", retain_keys),
        core("strategic/nested-env-by-name", "env of a container is merged by name", nested),
        core("strategic/service-ports-by-port", "ports of a Service are merged by port", service_ports),
        core("strategic/owner-references-by-uid", "owner references are merged by uid", owners),
        core("strategic/empty-is-no-op", "an empty patch keeps the resourceVersion", empty),
        core("strategic/stale-version-409", "a stale resourceVersion: 409", stale),
        core("strategic/missing-merge-key", "an item without its merge key is rejected", missing_key),
        core("strategic/unknown-directive", "an unknown $patch is rejected", unknown_directive),
    ]
    .concat()
}

async fn smp(cx: &Context, path: String, patch: Value) -> Result<ApiResponse, Failure> {
    cx.patch(path, STRATEGIC, &patch).await
}

async fn config_map(cx: &Context, fields: Value) -> Result<String, Failure> {
    cx.create_at(cx.all_of(&CONFIG_MAP), &cx.object_of(&CONFIG_MAP, "a", fields)).await?;
    Ok(cx.one_of(&CONFIG_MAP, "a"))
}

/// A Deployment with two containers, `c` and `d`.
async fn two_containers(cx: &Context) -> Result<String, Failure> {
    let mut object = deployment(cx);
    object["spec"]["template"]["spec"]["containers"] = json!([{"name": "c", "image": "i", "env": [{"name": "X", "value": "1"}], "args": ["one", "two"]}, {"name": "d", "image": "j"}]);
    cx.create_at(cx.all_of(&DEPLOYMENT), &object).await?;
    Ok(cx.one_of(&DEPLOYMENT, "a"))
}

fn containers(list: Value) -> Value {
    json!({"spec": {"template": {"spec": {"containers": list}}}})
}

fn names(r: &ApiResponse) -> Vec<String> {
    let all = r.body["spec"]["template"]["spec"]["containers"].as_array().cloned().unwrap_or_default();
    all.iter().map(|c| c["name"].as_str().unwrap_or_default().to_owned()).collect()
}

async fn map_keys(cx: Context) -> Outcome {
    let path = config_map(&cx, json!({"data": {"a": "1", "b": "2"}})).await?;
    smp(&cx, path, json!({"data": {"a": null, "c": "3"}}))
        .await?
        .is(200)?
        .eq("/data", json!({"b": "2", "c": "3"}))?;
    Ok(())
}

async fn by_name(cx: Context) -> Outcome {
    let path = two_containers(&cx).await?;
    let r = smp(&cx, path, containers(json!([{"name": "d", "image": "new"}]))).await?;
    r.is(200)?;
    let mut sorted = names(&r);
    sorted.sort();
    equal("containers", ["c", "d"], sorted)?;
    let all = r.body["spec"]["template"]["spec"]["containers"].as_array().cloned().unwrap_or_default();
    let image = |name: &str| all.iter().find(|c| c["name"] == name).map(|c| c["image"].clone());
    equal("images", (Some(json!("i")), Some(json!("new"))), (image("c"), image("d")))
}

async fn adds(cx: Context) -> Outcome {
    let path = two_containers(&cx).await?;
    let r = smp(&cx, path, containers(json!([{"name": "e", "image": "k"}]))).await?;
    let mut sorted = names(r.is(200)?);
    sorted.sort();
    equal("containers", ["c", "d", "e"], sorted)
}

async fn delete_item(cx: Context) -> Outcome {
    let path = two_containers(&cx).await?;
    let r = smp(&cx, path, containers(json!([{"name": "c", "$patch": "delete"}]))).await?;
    equal("containers", ["d"], names(r.is(200)?))
}

async fn replace_list(cx: Context) -> Outcome {
    let path = two_containers(&cx).await?;
    let r = smp(&cx, path, containers(json!([{"$patch": "replace"}, {"name": "e", "image": "k"}]))).await?;
    equal("containers", ["e"], names(r.is(200)?))
}

async fn replace_map(cx: Context) -> Outcome {
    let path = config_map(&cx, json!({"data": {"a": "1", "b": "2"}})).await?;
    smp(&cx, path, json!({"data": {"$patch": "replace", "c": "3"}}))
        .await?
        .is(200)?
        .eq("/data", json!({"c": "3"}))?;
    Ok(())
}

async fn atomic(cx: Context) -> Outcome {
    let path = two_containers(&cx).await?;
    let r = smp(&cx, path, containers(json!([{"name": "c", "args": ["three"]}]))).await?;
    let all =
        r.is(200)?.body["spec"]["template"]["spec"]["containers"].as_array().cloned().unwrap_or_default();
    let args = all.iter().find(|c| c["name"] == "c").map(|c| c["args"].clone());
    equal("args", Some(json!(["three"])), args)
}

async fn primitives(cx: Context) -> Outcome {
    let path = config_map(&cx, json!({"metadata": {"finalizers": ["conformance.example/a"]}})).await?;
    let r = smp(&cx, path, json!({"metadata": {"finalizers": ["conformance.example/b"]}})).await?;
    let mut all: Vec<String> = r.is(200)?.body["metadata"]["finalizers"]
        .as_array()
        .into_iter()
        .flatten()
        .map(Value::to_string)
        .collect();
    all.sort();
    equal("finalizers", ["\"conformance.example/a\"", "\"conformance.example/b\""], all)
}

async fn delete_primitives(cx: Context) -> Outcome {
    let path = config_map(
        &cx,
        json!({"metadata": {"finalizers": ["conformance.example/a", "conformance.example/b"]}}),
    )
    .await?;
    let r = smp(
        &cx,
        path,
        json!({"metadata": {"$deleteFromPrimitiveList/finalizers": ["conformance.example/a"]}}),
    )
    .await?;
    r.is(200)?.eq("/metadata/finalizers", json!(["conformance.example/b"]))?;
    Ok(())
}

async fn order(cx: Context) -> Outcome {
    let path = two_containers(&cx).await?;
    let mut patch = containers(json!([{"name": "e", "image": "k"}]));
    patch["spec"]["template"]["spec"]["$setElementOrder/containers"] =
        json!([{"name": "e"}, {"name": "d"}, {"name": "c"}]);
    let r = smp(&cx, path, patch).await?;
    equal("containers", ["e", "d", "c"], names(r.is(200)?))
}

async fn retain_keys(cx: Context) -> Outcome {
    let path = cx.one_of(&DEPLOYMENT, "a");
    cx.create_at(cx.all_of(&DEPLOYMENT), &deployment(&cx)).await?.has("/spec/strategy/rollingUpdate")?;
    let r =
        smp(&cx, path, json!({"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}})).await?;
    r.is(200)?.eq("/spec/strategy", json!({"type": "Recreate"}))?;
    Ok(())
}

async fn nested(cx: Context) -> Outcome {
    let path = two_containers(&cx).await?;
    let r = smp(
        &cx,
        path,
        containers(json!([{"name": "c", "env": [{"name": "Y", "value": "2"}, {"name": "X", "value": "9"}]}])),
    )
    .await?;
    let all =
        r.is(200)?.body["spec"]["template"]["spec"]["containers"].as_array().cloned().unwrap_or_default();
    let c = all.iter().find(|c| c["name"] == "c").cloned().unwrap_or_default();
    let value = |name: &str| {
        c["env"].as_array().and_then(|e| e.iter().find(|v| v["name"] == name)).map(|v| v["value"].clone())
    };
    equal("env", (Some(json!("9")), Some(json!("2"))), (value("X"), value("Y")))?;
    equal("image", json!("i"), c["image"].clone())
}

async fn service_ports(cx: Context) -> Outcome {
    let object = cx.object_of(
        &SERVICE,
        "a",
        json!({"spec": {"ports": [{"name": "x", "port": 80}, {"name": "y", "port": 81}]}}),
    );
    cx.create_at(cx.all_of(&SERVICE), &object).await?;
    let r =
        smp(&cx, cx.one_of(&SERVICE, "a"), json!({"spec": {"ports": [{"port": 81, "name": "z"}]}})).await?;
    let ports = r.is(200)?.body["spec"]["ports"].as_array().cloned().unwrap_or_default();
    let name = |port: u32| ports.iter().find(|p| p["port"] == port).map(|p| p["name"].clone());
    equal("names", (Some(json!("x")), Some(json!("z"))), (name(80), name(81)))
}

async fn owners(cx: Context) -> Outcome {
    let owner = cx
        .create_at(cx.all_of(&SECRET), &cx.object_of(&SECRET, "o", json!({})))
        .await?
        .str("/metadata/uid")?;
    let reference = json!({"apiVersion": "v1", "kind": "Secret", "name": "o", "uid": owner});
    let path = config_map(&cx, json!({"metadata": {"ownerReferences": [reference]}})).await?;
    let r = smp(
        &cx,
        path.clone(),
        json!({"metadata": {"ownerReferences": [{"uid": owner, "controller": true}]}}),
    )
    .await?;
    r.is(200)?
        .eq("/metadata/ownerReferences/0/name", "o")?
        .eq("/metadata/ownerReferences/0/controller", true)?;
    let r = smp(&cx, path, json!({"metadata": {"ownerReferences": [{"uid": owner, "$patch": "delete"}]}}))
        .await?;
    r.is(200)?.absent("/metadata/ownerReferences")?;
    Ok(())
}

async fn empty(cx: Context) -> Outcome {
    let path = config_map(&cx, json!({"data": {"a": "1"}})).await?;
    let before = cx.get(&path).await?;
    equal("the object", &before.body, &smp(&cx, path, json!({})).await?.body)
}

async fn stale(cx: Context) -> Outcome {
    let path = config_map(&cx, json!({"data": {"a": "1"}})).await?;
    let old = cx.get(&path).await?.revision()?;
    smp(&cx, path.clone(), json!({"data": {"a": "2"}})).await?.is(200)?;
    smp(&cx, path, json!({"metadata": {"resourceVersion": old}, "data": {"a": "3"}}))
        .await?
        .fails(409, "Conflict")?;
    Ok(())
}

async fn missing_key(cx: Context) -> Outcome {
    let path = two_containers(&cx).await?;
    let r = smp(&cx, path, containers(json!([{"image": "k"}]))).await?;
    holds(r.code == 400 || r.code == 500, "a refusal", &r.text)?;
    r.mentions("does not contain declared merge key: name")?;
    Ok(())
}

async fn unknown_directive(cx: Context) -> Outcome {
    cx.create_at(cx.all_of(&POD), &cx.object_of(&POD, "a", json!({"metadata": {"labels": {"x": "1"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}))).await?;
    let r = smp(&cx, cx.one_of(&POD, "a"), json!({"metadata": {"labels": {"$patch": "nonsense"}}})).await?;
    holds(r.code == 400 || r.code == 500, "a refusal", &r.text)?;
    r.mentions("nonsense")?;
    Ok(())
}
