//! Representations by `Accept`: metadata only, and tables.

use http::Method;
use serde_json::json;

use crate::{
    case::{Case, core, custom, each, since},
    check::{Failure, Outcome, at, equal, holds},
    client::ApiResponse,
    context::Context,
    kinds::{CONFIG_MAP, POD},
    subject::Subject,
};

// One row per line.
#[rustfmt::skip]
pub(crate) fn cases() -> Vec<Case> {
    [
        each("representation/version-without-view-406", "a media type with a version or group and no representation: 406", version_without_view),
        custom("representation/any-application-type@custom", "Accept: application/* of a custom resource is JSON", any_application_type),
        core("representation/any-application-type-406@builtin", "Accept: application/* of a built-in kind: 406", any_application_type),
        each("representation/partial-object", "PartialObjectMetadata: kind, apiVersion and metadata only", partial),
        each("representation/partial-list", "PartialObjectMetadataList of a collection", partial_list),
        since(25, each("representation/partial-list-pages", "limit and continue apply to a metadata-only list", partial_pages)),
        each("representation/partial-watch", "a metadata-only watch", partial_watch),
        each("representation/partial-of-create", "a create can return metadata only", partial_create),
        each("representation/partial-of-patch", "a patch can return metadata only", partial_patch),
        each("representation/fallback-to-json", "a second type in Accept is used if the first is unknown", fallback),
        each("representation/partial-list-empty", "an empty metadata-only list has null for items", partial_empty),
        each("representation/partial-of-list", "PartialObjectMetadata of a list: 406", partial_of_list),
        each("representation/partial-list-of-object", "PartialObjectMetadataList of an object: refused after the write; a Status is shown, a watch ends", list_of_object),
        each("representation/partial-unknown-version-406", "an unknown version of the transformation: 406", unknown_version),
        each("representation/table-list", "Table of a collection: columns and a row per object", table),
        each("representation/table-of-one", "Table of one object has one row", table_one),
        each("representation/table-name-column", "the first column of a table is the name", table_name),
        each("representation/table-row-object-metadata", "a row holds metadata only by default", row_metadata),
        each("representation/table-include-object-none", "includeObject=None: no object in the row", include_none),
        each("representation/table-include-object-object", "includeObject=Object: the whole object in the row", include_object),
        each("representation/table-watch", "a watch as tables: columns in the first event", table_watch),
        custom("representation/table-printer-columns", "additionalPrinterColumns of the CRD, in order, with priority", printer_columns),
        custom("representation/table-default-columns", "a CRD without printer columns has Name and Age", default_columns),
        core("representation/table-config-map", "a ConfigMap's table has Name, Data and Age", config_map_table),
        core("representation/table-pod", "a Pod's table has Ready, Status, Restarts and Age", pod_table),
        each("representation/errors-stay-status", "an error is a Status regardless of Accept", errors_status),
    ]
    .concat()
}

const PARTIAL: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
const PARTIAL_LIST: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
const TABLE: &str = "application/json;as=Table;g=meta.k8s.io;v=v1";

async fn get_as(cx: &Context, path: String, accept: &str) -> Result<ApiResponse, Failure> {
    let r = cx.call(Method::GET, path).accept(accept).send().await?;
    r.is(200)?;
    Ok(r)
}

async fn version_without_view(cx: Context) -> Outcome {
    cx.create("a").await?;
    for parameter in ["v=v1", "g=meta.k8s.io"] {
        let accept = format!("application/json;{parameter}");
        let reply = cx.call(Method::GET, cx.one("a")).accept(&accept).send().await?;
        reply.fails(406, "NotAcceptable")?.mentions("only the following media types are accepted")?;
    }
    Ok(())
}

async fn any_application_type(cx: Context) -> Outcome {
    let code = if cx.subject == Subject::Custom { 200 } else { 406 };
    cx.call(Method::GET, cx.all()).accept("application/*").send().await?.is(code)?;
    Ok(())
}

async fn partial(cx: Context) -> Outcome {
    cx.create("a").await?;
    let r = get_as(&cx, cx.one("a"), PARTIAL).await?;
    r.eq("/kind", "PartialObjectMetadata")?.eq("/apiVersion", "meta.k8s.io/v1")?.eq("/metadata/name", "a")?;
    r.has("/metadata/uid")?.has("/metadata/managedFields")?.absent("/spec")?;
    Ok(())
}

async fn partial_list(cx: Context) -> Outcome {
    cx.create_all(&["a", "b"]).await?;
    let r = get_as(&cx, cx.all(), PARTIAL_LIST).await?;
    r.eq("/kind", "PartialObjectMetadataList")?.eq("/apiVersion", "meta.k8s.io/v1")?.lists(&["a", "b"])?;
    r.absent("/items/0/spec")?.has("/items/0/metadata/resourceVersion")?.revision()?;
    Ok(())
}

async fn partial_empty(cx: Context) -> Outcome {
    let r = get_as(&cx, cx.all(), PARTIAL_LIST).await?;
    r.eq("/items", json!(null))?.absent("/metadata/continue")?;
    Ok(())
}

async fn partial_of_list(cx: Context) -> Outcome {
    for method in [Method::GET, Method::DELETE] {
        let r = cx.call(method, cx.all()).accept(PARTIAL).send().await?;
        r.fails(406, "NotAcceptable")?;
        r.mentions("you requested PartialObjectMetadata, but the requested object is a list (*")?;
    }
    Ok(())
}

async fn list_of_object(cx: Context) -> Outcome {
    let code = if cx.subject == Subject::Custom { 500 } else { 406 };
    cx.call(Method::POST, cx.all()).accept(PARTIAL_LIST).json(&cx.object("a")).send().await?.is(code)?;
    cx.get(cx.one("a")).await?.is(200)?;
    let r = cx.call(Method::GET, cx.one("a")).accept(PARTIAL_LIST).send().await?;
    r.is(code)?.mentions("not a list")?;
    let path = format!("{}?watch=1&timeoutSeconds=1", cx.all());
    let ended = cx.call(Method::GET, path).accept(PARTIAL_LIST).watch().await?.next().await?;
    holds(ended.is_none(), "no event", format!("{ended:?}"))?;
    let r = cx.call(Method::DELETE, cx.one("a")).accept(PARTIAL_LIST).send().await?;
    r.is(200)?.eq("/kind", "Status")?;
    Ok(())
}

async fn partial_pages(cx: Context) -> Outcome {
    cx.create_all(&["a", "b", "c"]).await?;
    let one = get_as(&cx, format!("{}?limit=2", cx.all()), PARTIAL_LIST).await?;
    one.lists(&["a", "b"])?;
    one.eq("/metadata/remainingItemCount", 1)?;
    let next = format!("{}?limit=2&continue={}", cx.all(), one.str("/metadata/continue")?);
    get_as(&cx, next, PARTIAL_LIST).await?.lists(&["c"])?;
    Ok(())
}

async fn partial_watch(cx: Context) -> Outcome {
    let revision = cx.get(cx.all()).await?.revision()?;
    let path = format!("{}?watch=1&resourceVersion={revision}", cx.all());
    let mut watch = cx.call(Method::GET, path).accept(PARTIAL).watch().await?;
    cx.create("a").await?;
    let object = watch.expect("ADDED", "a").await?;
    at(&object, "/kind", "PartialObjectMetadata")?;
    holds(object["spec"].is_null(), "no spec", &object)
}

async fn partial_create(cx: Context) -> Outcome {
    let r = cx.call(Method::POST, cx.all()).accept(PARTIAL).json(&cx.object("a")).send().await?;
    r.is(201)?.eq("/kind", "PartialObjectMetadata")?.absent("/spec")?;
    Ok(())
}

async fn partial_patch(cx: Context) -> Outcome {
    cx.create("a").await?;
    let call = cx
        .call(Method::PATCH, cx.one("a"))
        .accept(PARTIAL)
        .typed(crate::context::MERGE, &json!({"spec": {"leaseTransitions": 2}}));
    call.send().await?.is(200)?.eq("/kind", "PartialObjectMetadata")?.absent("/spec")?;
    Ok(())
}

async fn fallback(cx: Context) -> Outcome {
    cx.create("a").await?;
    let r =
        get_as(&cx, cx.one("a"), "application/json;as=Nonsense;g=meta.k8s.io;v=v1,application/json").await?;
    r.eq("/kind", cx.kind().kind)?;
    Ok(())
}

async fn unknown_version(cx: Context) -> Outcome {
    cx.create("a").await?;
    let accept = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v9";
    let r = cx.call(Method::GET, cx.one("a")).accept(accept).send().await?;
    r.fails(406, "NotAcceptable")?;
    Ok(())
}

async fn table(cx: Context) -> Outcome {
    cx.create_all(&["a", "b"]).await?;
    let r = get_as(&cx, cx.all(), TABLE).await?;
    r.eq("/kind", "Table")?.eq("/apiVersion", "meta.k8s.io/v1")?.revision()?;
    let rows = r.body["rows"].as_array().map_or(0, Vec::len);
    equal("rows", 2, rows)?;
    let (columns, cells) = (&r.body["columnDefinitions"], &r.body["rows"][0]["cells"]);
    equal("cells of a row", columns.as_array().map(Vec::len), cells.as_array().map(Vec::len))
}

async fn table_one(cx: Context) -> Outcome {
    cx.create("a").await?;
    let r = get_as(&cx, cx.one("a"), TABLE).await?;
    r.eq("/kind", "Table")?.eq("/rows/0/cells/0", "a")?.absent("/rows/1")?;
    Ok(())
}

async fn table_name(cx: Context) -> Outcome {
    cx.create("a").await?;
    let r = get_as(&cx, cx.all(), TABLE).await?;
    r.eq("/columnDefinitions/0/name", "Name")?.eq("/columnDefinitions/0/type", "string")?;
    r.eq("/columnDefinitions/0/format", "name")?
        .eq("/columnDefinitions/0/priority", 0)?
        .eq("/rows/0/cells/0", "a")?;
    Ok(())
}

async fn row_metadata(cx: Context) -> Outcome {
    cx.create("a").await?;
    let r = get_as(&cx, cx.all(), TABLE).await?;
    r.eq("/rows/0/object/kind", "PartialObjectMetadata")?
        .eq("/rows/0/object/apiVersion", "meta.k8s.io/v1")?;
    r.eq("/rows/0/object/metadata/name", "a")?.absent("/rows/0/object/spec")?;
    Ok(())
}

async fn include_none(cx: Context) -> Outcome {
    cx.create("a").await?;
    let r = get_as(&cx, format!("{}?includeObject=None", cx.all()), TABLE).await?;
    r.eq("/rows/0/cells/0", "a")?;
    holds(r.body["rows"][0]["object"].is_null(), "no object", &r.text)
}

async fn include_object(cx: Context) -> Outcome {
    cx.create("a").await?;
    let r = get_as(&cx, format!("{}?includeObject=Object", cx.all()), TABLE).await?;
    r.eq("/rows/0/object/kind", cx.kind().kind)?.eq("/rows/0/object/spec/holderIdentity", "first")?;
    Ok(())
}

async fn table_watch(cx: Context) -> Outcome {
    let revision = cx.get(cx.all()).await?.revision()?;
    let path = format!("{}?watch=1&resourceVersion={revision}", cx.all());
    let mut watch = cx.call(Method::GET, path).accept(TABLE).watch().await?;
    cx.create_all(&["a", "b"]).await?;
    let first = watch.next().await?.unwrap_or_default();
    at(&first, "/type", "ADDED")?;
    at(&first, "/object/kind", "Table")?;
    at(&first, "/object/rows/0/cells/0", "a")?;
    at(&first, "/object/columnDefinitions/0/name", "Name")?;
    let second = watch.next().await?.unwrap_or_default();
    at(&second, "/object/rows/0/cells/0", "b")?;
    holds(!second["object"]["columnDefinitions"].is_array(), "columns in the first event only", &second)
}

fn column_names(r: &ApiResponse) -> Vec<String> {
    let columns = r.body["columnDefinitions"].as_array().cloned().unwrap_or_default();
    columns.iter().map(|c| c["name"].as_str().unwrap_or_default().to_owned()).collect()
}

async fn printer_columns(cx: Context) -> Outcome {
    cx.create_at(cx.all(), &cx.with_spec("a", json!({"holderIdentity": "me", "replicas": 3}))).await?;
    let r = get_as(&cx, cx.all(), TABLE).await?;
    equal("columns", ["Name", "Holder", "Replicas"], column_names(&r))?;
    r.eq("/columnDefinitions/1/priority", 0)?
        .eq("/columnDefinitions/2/priority", 1)?
        .eq("/columnDefinitions/2/type", "integer")?;
    r.eq("/rows/0/cells", json!(["a", "me", 3]))?;
    Ok(())
}

async fn default_columns(cx: Context) -> Outcome {
    cx.create_at(cx.all_of(&crate::kinds::GADGET), &cx.gadget("a", json!({"size": 1}))).await?;
    let r = get_as(&cx, cx.all_of(&crate::kinds::GADGET), TABLE).await?;
    equal("columns", ["Name", "Age"], column_names(&r))
}

async fn config_map_table(cx: Context) -> Outcome {
    cx.create_at(
        cx.all_of(&CONFIG_MAP),
        &cx.object_of(&CONFIG_MAP, "a", json!({"data": {"x": "1", "y": "2"}})),
    )
    .await?;
    let r = get_as(&cx, cx.one_of(&CONFIG_MAP, "a"), TABLE).await?;
    equal("columns", ["Name", "Data", "Age"], column_names(&r))?;
    r.eq("/rows/0/cells/1", 2)?;
    Ok(())
}

async fn pod_table(cx: Context) -> Outcome {
    let spec = json!({"spec": {"containers": [{"name": "c", "image": "i"}]}});
    cx.create_at(cx.all_of(&POD), &cx.object_of(&POD, "a", spec)).await?;
    let r = get_as(&cx, cx.one_of(&POD, "a"), TABLE).await?;
    let names = column_names(&r);
    equal(
        "first columns",
        ["Name", "Ready", "Status", "Restarts", "Age"],
        names.iter().take(5).collect::<Vec<_>>(),
    )?;
    r.eq("/rows/0/cells/1", "0/1")?.eq("/rows/0/cells/2", "Pending")?;
    Ok(())
}

async fn errors_status(cx: Context) -> Outcome {
    let r = cx.call(Method::GET, cx.one("none")).accept(TABLE).send().await?;
    r.fails(404, "NotFound")?;
    Ok(())
}
