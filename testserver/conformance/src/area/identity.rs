//! Writes that leave out the identity of an object: its name, kind and version.

use serde_json::{Value, json};

use crate::{
    case::{Case, core, custom, each},
    check::{Outcome, equal},
    client::ApiResponse,
    context::{Context, JSON_PATCH, MERGE, STRATEGIC},
    kinds::DEPLOYMENT,
};

const NAMELESS: &str = "the name of the object (a based on URL) was undeterminable: name must be provided";

// One row per line.
#[rustfmt::skip]
pub(crate) fn cases() -> Vec<Case> {
    let nameless = [
        ("merge-metadata-null", "a merge patch that removes metadata: 400", MERGE, json!({"metadata": null})),
        ("merge-name-null", "a merge patch that removes the name: 400", MERGE, json!({"metadata": {"name": null}})),
        ("merge-name-empty", "a merge patch that empties the name: 400", MERGE, json!({"metadata": {"name": ""}})),
        ("json-metadata-removed", "a JSON patch that removes metadata: 400", JSON_PATCH, json!([{"op": "remove", "path": "/metadata"}])),
        ("json-metadata-moved", "a JSON patch that moves metadata elsewhere: 400", JSON_PATCH, json!([{"op": "move", "from": "/metadata", "path": "/spec/x"}])),
        ("json-metadata-empty", "a JSON patch that empties metadata: 400", JSON_PATCH, json!([{"op": "replace", "path": "/metadata", "value": {}}])),
        ("json-name-removed", "a JSON patch that removes the name: 400", JSON_PATCH, json!([{"op": "remove", "path": "/metadata/name"}])),
    ];
    let nameless = nameless.into_iter().flat_map(|(id, rule, media, patch)| {
        each(&format!("identity/{id}"), rule, move |cx| patch_without_name(cx, media, patch.clone()))
    });
    let others = [
        each("identity/json-root-emptied", "a JSON patch that replaces the object by an empty one is refused", json_root),
        each("identity/json-root-list", "a JSON patch that replaces the object by a list: 422", json_root_list),
        each("identity/json-root-removed", "a JSON patch that removes the whole object: 422", json_root_removed),
        each("identity/metadata-text", "metadata that is text: 422", metadata_text),
        each("identity/kind-number", "a kind that is a number: 422", kind_number),
        each("identity/kind-changed", "a patch of the kind: 422", kind_changed),
        each("identity/version-changed", "a patch of the apiVersion: 422", version_changed),
        custom("identity/kind-removed", "a patch that removes the kind of a custom resource: 422", kind_removed),
        custom("identity/version-removed", "a patch that removes the apiVersion of a custom resource: 500", version_removed),
        core("identity/kind-of-built-in", "a built-in kind may be left out", kind_left_out),
        each("identity/server-fields-removed", "a patch that removes uid, namespace and creationTimestamp changes nothing", server_fields),
        each("identity/version-number-removed", "a patch that removes the resourceVersion of a kind without unconditional update: 422", resource_version),
        core("identity/strategic", "a strategic merge patch that removes the name or the whole object: 400", strategic),
        each("identity/put-without-name", "PUT without a name: 400", put_without_name),
        each("identity/put-version-zero", "PUT with resourceVersion 0 of a kind without unconditional update: 422", put_zero),
        each("identity/apply-without-name", "an apply to an existing object needs no name; one that creates does: 400", apply_without_name),
    ];
    nameless.chain(others.into_iter().flatten()).collect()
}

/// Sends a patch and checks that it changed nothing.
async fn refused(cx: &Context, media: &str, patch: &Value) -> Result<ApiResponse, crate::check::Failure> {
    let before = cx.create("a").await?.body;
    let reply = cx.patch(cx.one("a"), media, patch).await?;
    equal("the object after a refused patch", &before, &cx.get(cx.one("a")).await?.body)?;
    Ok(reply)
}

async fn patch_without_name(cx: Context, media: &str, patch: Value) -> Outcome {
    refused(&cx, media, &patch).await?.fails(400, "BadRequest")?.says(NAMELESS)?;
    Ok(())
}

async fn json_root(cx: Context) -> Outcome {
    let reply = refused(&cx, JSON_PATCH, &json!([{"op": "replace", "path": "", "value": {}}])).await?;
    if reply.code != 400 {
        reply.fails(422, "Invalid")?;
    }
    Ok(())
}

async fn json_root_list(cx: Context) -> Outcome {
    let patch = json!([{"op": "replace", "path": "", "value": []}]);
    refused(&cx, JSON_PATCH, &patch).await?.fails(422, "Invalid")?;
    Ok(())
}

async fn json_root_removed(cx: Context) -> Outcome {
    refused(&cx, JSON_PATCH, &json!([{"op": "remove", "path": ""}])).await?.fails(422, "Invalid")?;
    Ok(())
}

async fn metadata_text(cx: Context) -> Outcome {
    let reply = refused(&cx, MERGE, &json!({"metadata": "x"})).await?;
    reply.fails(422, "Invalid")?.cause("FieldValueInvalid", "patch")?;
    Ok(())
}

async fn kind_number(cx: Context) -> Outcome {
    let reply = refused(&cx, MERGE, &json!({"kind": 5})).await?;
    reply.fails(422, "Invalid")?.cause("FieldValueInvalid", "patch")?;
    Ok(())
}

async fn kind_changed(cx: Context) -> Outcome {
    refused(&cx, MERGE, &json!({"kind": "Pod"})).await?.fails(422, "Invalid")?;
    Ok(())
}

async fn version_changed(cx: Context) -> Outcome {
    refused(&cx, MERGE, &json!({"apiVersion": "other.example/v1"})).await?.fails(422, "Invalid")?;
    Ok(())
}

async fn kind_removed(cx: Context) -> Outcome {
    let reply = refused(&cx, JSON_PATCH, &json!([{"op": "remove", "path": "/kind"}])).await?;
    reply.fails(422, "Invalid")?.cause("FieldValueInvalid", "patch")?.mentions("Object 'Kind' is missing")?;
    Ok(())
}

async fn version_removed(cx: Context) -> Outcome {
    let reply = refused(&cx, MERGE, &json!({"apiVersion": null})).await?;
    let message =
        "Internal error occurred: Object 'apiVersion' is missing in 'object has no apiVersion field'";
    reply.fails(500, "InternalError")?.says(message)?;
    Ok(())
}

async fn kind_left_out(cx: Context) -> Outcome {
    let before = cx.create("a").await?.body;
    let reply = cx.merge(cx.one("a"), &json!({"kind": null})).await?;
    reply.is(200)?;
    equal("the object", &before, &reply.body)
}

async fn server_fields(cx: Context) -> Outcome {
    let before = cx.create("a").await?.body;
    let patch = json!({"metadata": {"uid": null, "namespace": null, "creationTimestamp": null}});
    let reply = cx.merge(cx.one("a"), &patch).await?;
    reply.is(200)?;
    equal("the object", &before, &reply.body)
}

async fn resource_version(cx: Context) -> Outcome {
    for version in [Value::Null, json!(""), json!("0")] {
        let _ = cx.delete(cx.one("a")).await?;
        let reply = refused(&cx, MERGE, &json!({"metadata": {"resourceVersion": version}})).await?;
        reply.fails(422, "Invalid")?.cause("FieldValueInvalid", "metadata.resourceVersion")?;
    }
    Ok(())
}

async fn strategic(cx: Context) -> Outcome {
    let path = cx.one_of(&DEPLOYMENT, "a");
    let object = super::subresource::deployment(&cx);
    cx.create_at(cx.all_of(&DEPLOYMENT), &object).await?;
    for patch in [
        json!({"metadata": null}),
        json!({"metadata": {"$patch": "delete"}}),
        json!({"$patch": "delete"}),
        json!({"$patch": "replace"}),
    ] {
        cx.patch(&path, STRATEGIC, &patch).await?.fails(400, "BadRequest")?.says(NAMELESS)?;
    }
    cx.get(&path).await?.eq("/spec/selector", object["spec"]["selector"].clone())?;
    Ok(())
}

async fn put_without_name(cx: Context) -> Outcome {
    let mut object = cx.create("a").await?.body;
    object["metadata"] = json!({"resourceVersion": object["metadata"]["resourceVersion"]});
    cx.put(cx.one("a"), &object).await?.fails(400, "BadRequest")?.says(NAMELESS)?;
    Ok(())
}

async fn put_zero(cx: Context) -> Outcome {
    let mut object = cx.create("a").await?.body;
    object["metadata"]["resourceVersion"] = json!("0");
    let reply = cx.put(cx.one("a"), &object).await?;
    reply.fails(422, "Invalid")?.cause("FieldValueInvalid", "metadata.resourceVersion")?;
    Ok(())
}

async fn apply_without_name(cx: Context) -> Outcome {
    let mut config = cx.object("a");
    config["metadata"] = json!({});
    let reply = cx.apply(cx.one("a"), "m", &config).await?;
    reply.fails(400, "BadRequest")?.says(NAMELESS)?;
    cx.create("a").await?;
    cx.apply(cx.one("a"), "m", &config).await?.is(200)?.eq("/metadata/name", "a")?;
    config["metadata"] = json!({"name": null});
    cx.apply(cx.one("a"), "m", &config).await?.fails(400, "BadRequest")?.says(NAMELESS)?;
    Ok(())
}
