//! Error responses of all verbs: status codes and Status bodies.

use http::Method;
use serde_json::json;

use crate::{
    case::{Case, core, custom, each, since},
    check::{Outcome, holds},
    client::ApiResponse,
    context::Context,
    kinds::{CONFIG_MAP, POD},
    subject::Subject,
};

// One row per line.
#[rustfmt::skip]
pub(crate) fn cases() -> Vec<Case> {
    [
        each("verbs/get-missing-404", "GET of a missing object: 404 NotFound, details name it", get_missing),
        each("verbs/delete-missing-404", "DELETE of a missing object: 404 NotFound", delete_missing),
        each("verbs/put-missing-404", "PUT of a missing object with a uid or resourceVersion: 404, never a create", put_missing),
        each("verbs/patch-missing-404", "a merge patch of a missing object: 404 NotFound", patch_missing),
        custom("verbs/unknown-group-404", "an unknown API group: 404 with the plain text \"404 page not found\"", unknown_group),
        custom("verbs/unknown-version-404", "an unknown version of a known group: 404 page not found", unknown_version),
        custom("verbs/unknown-resource-404", "an unknown resource of a known group: 404", unknown_resource),
        custom("verbs/unknown-path-404", "an unknown path: 404", unknown_path),
        core("verbs/post-to-object-405", "POST to the path of an object of a built-in kind: 405 MethodNotAllowed", post_to_object),
        custom("verbs/post-to-object-creates", "POST to the path of a custom resource is a create: 409 if it exists", post_to_custom),
        each("verbs/put-to-collection", "PUT to a collection: 405 MethodNotAllowed, 400 for custom resources", put_to_collection),
        each("verbs/patch-to-collection", "PATCH of a collection: 405 MethodNotAllowed, 400 for custom resources", patch_to_collection),
        core("verbs/post-across-namespaces-405", "POST of a namespaced built-in kind without namespace: 405", post_across),
        each("verbs/malformed-json-400", "a body that is not JSON: 400 BadRequest", malformed_json),
        each("verbs/body-is-array-400", "a body that is no object: 400 BadRequest", array_body),
        each("verbs/empty-body-400", "POST with an empty body: 400 BadRequest", empty_body),
        each("verbs/unsupported-media-type-415", "a body of an unknown content type: 415", unsupported_media),
        each("verbs/patch-media-type-415", "a patch of an unknown content type: 415; of custom resources, naming the supported ones", patch_media),
        each("verbs/not-acceptable-406", "an Accept without a supported type: 406 NotAcceptable", not_acceptable),
        custom("verbs/unknown-subresource-404", "an unknown subresource: 404", unknown_subresource),
        each("verbs/content-type-json", "responses are application/json by default", content_type),
        each("verbs/yaml-body-accepted", "a body in YAML is accepted", yaml_body),
        each("verbs/yaml-answer", "Accept: application/yaml returns YAML", yaml_answer),
        core("verbs/protobuf-refused-for-garbage", "a body labelled protobuf that is not: 400", protobuf_garbage),
        core("verbs/core-group-message", "a missing object of the core group: the message has no group suffix", core_message),
        since(21, custom("verbs/audit-id-header", "every response has an Audit-Id (since 1.21)", audit_id)),
        custom("verbs/status-metadata-empty", "a Status has an empty metadata object", status_shape),
        core("verbs/head-of-builtin-405", "HEAD of an object of a built-in kind: 405", head),
        each("verbs/oversized-body-413", "a body over 3 MiB: 413 RequestEntityTooLarge", oversized),
    ]
    .concat()
}

async fn get_missing(cx: Context) -> Outcome {
    let r = cx.get(cx.one("none")).await?;
    r.fails(404, "NotFound")?.says(&format!("{} \"none\" not found", cx.qualified(cx.kind())))?;
    r.eq("/details/name", "none")?.eq("/details/kind", cx.kind().plural)?.eq("/details/group", cx.group())?;
    Ok(())
}

async fn delete_missing(cx: Context) -> Outcome {
    cx.delete(cx.one("none")).await?.fails(404, "NotFound")?.eq("/details/name", "none")?;
    Ok(())
}

async fn put_missing(cx: Context) -> Outcome {
    let mut object = cx.object("none");
    object["metadata"]["resourceVersion"] = json!("1");
    object["metadata"]["uid"] = json!("6bd39df0-0000-4000-8000-000000000000");
    let r = cx.put(cx.one("none"), &object).await?;
    holds(r.code == 404 || r.code == 409, "404 or 409", &r.text)?;
    cx.get(cx.one("none")).await?.is(404)?;
    Ok(())
}

async fn patch_missing(cx: Context) -> Outcome {
    cx.merge(cx.one("none"), &json!({"spec": {}}))
        .await?
        .fails(404, "NotFound")?
        .eq("/details/name", "none")?;
    Ok(())
}

async fn unknown_group(cx: Context) -> Outcome {
    let r = cx.get("/apis/no-such-group.example/v1/things").await?;
    r.is(404)?;
    holds(r.text.trim() == "404 page not found", "404 page not found", &r.text)
}

async fn unknown_version(cx: Context) -> Outcome {
    cx.get(format!("/apis/{}/v9/widgets", cx.group())).await?.is(404)?;
    Ok(())
}

async fn unknown_resource(cx: Context) -> Outcome {
    cx.get(format!("/apis/{}/v1/namespaces/{}/nonsense", cx.group(), cx.ns)).await?.is(404)?;
    Ok(())
}

async fn unknown_path(cx: Context) -> Outcome {
    cx.get("/no/such/path").await?.is(404)?;
    Ok(())
}

async fn post_to_object(cx: Context) -> Outcome {
    cx.create("a").await?;
    cx.post(cx.one("a"), &cx.object("a")).await?.fails(405, "MethodNotAllowed")?;
    Ok(())
}

async fn put_to_collection(cx: Context) -> Outcome {
    let r = cx.put(cx.all(), &cx.object("a")).await?;
    without_name(&cx, &r)
}

/// The handler of custom resources reports a missing name.
fn without_name(cx: &Context, r: &ApiResponse) -> Outcome {
    match cx.subject {
        Subject::Custom => r.fails(400, "BadRequest")?.says("name must be provided")?,
        Subject::Builtin => r.fails(405, "MethodNotAllowed")?,
    };
    Ok(())
}

async fn post_to_custom(cx: Context) -> Outcome {
    cx.create("a").await?;
    cx.post(cx.one("a"), &cx.object("a")).await?.fails(409, "AlreadyExists")?;
    Ok(())
}

async fn patch_to_collection(cx: Context) -> Outcome {
    let r = cx.merge(cx.all(), &json!({})).await?;
    without_name(&cx, &r)
}

async fn post_across(cx: Context) -> Outcome {
    cx.post(cx.everywhere(), &cx.object("a")).await?.fails(405, "MethodNotAllowed")?;
    Ok(())
}

async fn malformed_json(cx: Context) -> Outcome {
    let call = cx.call(Method::POST, cx.all()).bytes("application/json", "{\"kind\": ");
    call.send().await?.fails(400, "BadRequest")?;
    Ok(())
}

async fn array_body(cx: Context) -> Outcome {
    cx.post(cx.all(), &json!([1])).await?.fails(400, "BadRequest")?;
    Ok(())
}

async fn empty_body(cx: Context) -> Outcome {
    let r = cx.call(Method::POST, cx.all()).bytes("application/json", "").send().await?;
    r.fails(400, "BadRequest")?;
    Ok(())
}

async fn unsupported_media(cx: Context) -> Outcome {
    let call = cx.call(Method::POST, cx.all()).typed("text/plain", &cx.object("a"));
    call.send().await?.fails(415, "UnsupportedMediaType")?;
    Ok(())
}

async fn patch_media(cx: Context) -> Outcome {
    cx.create("a").await?;
    let r = cx.patch(cx.one("a"), "application/json", &json!({})).await?;
    r.is(415)?.mentions(if cx.subject == Subject::Custom {
        "application/merge-patch+json"
    } else {
        "415: Unsupported Media Type"
    })?;
    Ok(())
}

async fn not_acceptable(cx: Context) -> Outcome {
    let r = cx.call(Method::GET, cx.all()).accept("application/x-nonsense").send().await?;
    r.fails(406, "NotAcceptable")?;
    Ok(())
}

async fn unknown_subresource(cx: Context) -> Outcome {
    cx.create("a").await?;
    cx.get(format!("{}/nonsense", cx.one("a"))).await?.is(404)?;
    Ok(())
}

async fn content_type(cx: Context) -> Outcome {
    let r = cx.create("a").await?;
    holds(r.header("content-type") == "application/json", "application/json", r.header("content-type"))
}

async fn yaml_body(cx: Context) -> Outcome {
    let yaml = format!(
        "apiVersion: {}\nkind: {}\nmetadata: {{name: a}}\n",
        cx.api_version(cx.kind()),
        cx.kind().kind
    );
    let r = cx.call(Method::POST, cx.all()).bytes("application/yaml", yaml).send().await?;
    r.is(201)?.eq("/metadata/name", "a")?;
    Ok(())
}

async fn yaml_answer(cx: Context) -> Outcome {
    cx.create("a").await?;
    let r = cx.call(Method::GET, cx.one("a")).accept("application/yaml").send().await?;
    r.is(200)?;
    holds(r.header("content-type") == "application/yaml", "application/yaml", r.header("content-type"))?;
    holds(r.text.contains("name: a"), "a line `name: a`", &r.text)
}

async fn protobuf_garbage(cx: Context) -> Outcome {
    let r = cx
        .call(Method::POST, cx.all())
        .bytes("application/vnd.kubernetes.protobuf", "nonsense")
        .send()
        .await?;
    r.is(400)?;
    Ok(())
}

async fn core_message(cx: Context) -> Outcome {
    let r = cx.get(cx.one_of(&POD, "none")).await?;
    r.fails(404, "NotFound")?.says("pods \"none\" not found")?.absent("/details/group")?;
    cx.get(cx.one_of(&CONFIG_MAP, "none")).await?.says("configmaps \"none\" not found")?;
    Ok(())
}

async fn audit_id(cx: Context) -> Outcome {
    let r = cx.get(cx.all()).await?;
    holds(!r.header("audit-id").is_empty(), "an Audit-Id header", format!("{:?}", r.headers))
}

async fn status_shape(cx: Context) -> Outcome {
    cx.get(cx.one("none")).await?.eq("/metadata", json!({}))?;
    Ok(())
}

async fn head(cx: Context) -> Outcome {
    cx.create("a").await?;
    cx.call(Method::HEAD, cx.one("a")).send().await?.is(405)?;
    Ok(())
}

async fn oversized(cx: Context) -> Outcome {
    let mut object = cx.object("a");
    object["spec"]["holderIdentity"] = json!("x".repeat(3 * 1024 * 1024 + 1));
    cx.post(cx.all(), &object).await?.fails(413, "RequestEntityTooLarge")?;
    Ok(())
}
