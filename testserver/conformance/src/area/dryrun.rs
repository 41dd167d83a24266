//! Dry run and field validation.

use serde_json::json;

use crate::{
    case::{Case, core, custom, each, since},
    check::{Outcome, equal, holds},
    context::Context,
    kinds::{CONFIG_MAP, GADGET},
};

// One row per line.
#[rustfmt::skip]
pub(crate) fn cases() -> Vec<Case> {
    [
        each("dryrun/create", "create with dryRun=All returns 201 and stores nothing", create),
        each("dryrun/create-validates", "a dry-run create is validated", create_validates),
        each("dryrun/create-existing-409", "a dry-run create of an existing name: 409", create_existing),
        each("dryrun/update", "update with dryRun=All returns the new state and stores nothing", update),
        each("dryrun/update-stale-409", "a dry-run update checks resourceVersion", update_stale),
        each("dryrun/patch", "patch with dryRun=All stores nothing", patch),
        each("dryrun/delete-collection", "DELETE of a collection with dryRun=All removes nothing", collection),
        each("dryrun/unknown-value-422", "a value other than All: 422", unknown),
        each("dryrun/silent-for-watches", "a dry run sends no event", silent),
        each("dryrun/version-does-not-move", "a dry run does not change the collection's resourceVersion", generate_name),
        custom("dryrun/status", "a dry run on a subresource stores nothing", status),
        since(SINCE, custom("dryrun/strict-unknown-field-400", "fieldValidation=Strict: an unknown field is 400 (since 1.25, ignored before)", strict)),
        since(SINCE, custom("dryrun/warn-unknown-field", "fieldValidation=Warn (default since 1.27): an unknown field is a warning", warn)),
        custom("dryrun/ignore-unknown-field", "fieldValidation=Ignore: an unknown field is dropped silently", ignore),
        since(SINCE, custom("dryrun/strict-duplicate-field-400", "fieldValidation=Strict: a duplicate field is 400 (since 1.25)", duplicate)),
        since(SINCE, custom("dryrun/field-validation-unknown-422", "an unknown fieldValidation: 422 (since 1.25)", bad_directive)),
        since(SINCE, core("dryrun/strict-builtin", "fieldValidation=Strict on a built-in kind (since 1.25)", strict_builtin)),
        since(SINCE, custom("dryrun/strict-patch", "fieldValidation=Strict on a merge patch (since 1.25)", strict_patch)),
    ]
    .concat()
}

/// The minor version since which servers support field validation.
const SINCE: u32 = 25;

async fn create(cx: Context) -> Outcome {
    let r = cx.post(format!("{}?dryRun=All", cx.all()), &cx.object("a")).await?;
    r.is(201)?.eq("/metadata/name", "a")?.has("/metadata/uid")?.absent("/metadata/resourceVersion")?;
    cx.get(cx.one("a")).await?.is(404)?;
    Ok(())
}

async fn create_validates(cx: Context) -> Outcome {
    cx.post(format!("{}?dryRun=All", cx.all()), &cx.object("Bad Name")).await?.fails(422, "Invalid")?;
    Ok(())
}

async fn create_existing(cx: Context) -> Outcome {
    cx.create("a").await?;
    cx.post(format!("{}?dryRun=All", cx.all()), &cx.object("a")).await?.fails(409, "AlreadyExists")?;
    Ok(())
}

async fn update(cx: Context) -> Outcome {
    let before = cx.create("a").await?.body;
    let mut object = before.clone();
    object["spec"]["holderIdentity"] = json!("second");
    cx.put(format!("{}?dryRun=All", cx.one("a")), &object)
        .await?
        .is(200)?
        .eq("/spec/holderIdentity", "second")?;
    equal("the stored object", before, cx.get(cx.one("a")).await?.body)
}

async fn update_stale(cx: Context) -> Outcome {
    let mut object = cx.create("a").await?.body;
    cx.merge(cx.one("a"), &json!({"spec": {"leaseTransitions": 2}})).await?.is(200)?;
    object["spec"]["holderIdentity"] = json!("second");
    cx.put(format!("{}?dryRun=All", cx.one("a")), &object).await?.fails(409, "Conflict")?;
    Ok(())
}

async fn patch(cx: Context) -> Outcome {
    let before = cx.create("a").await?.body;
    let r =
        cx.merge(format!("{}?dryRun=All", cx.one("a")), &json!({"spec": {"leaseTransitions": 8}})).await?;
    r.is(200)?.eq("/spec/leaseTransitions", 8)?;
    equal("the stored object", before, cx.get(cx.one("a")).await?.body)
}

async fn collection(cx: Context) -> Outcome {
    cx.create_all(&["a", "b"]).await?;
    cx.delete(format!("{}?dryRun=All", cx.all())).await?.is(200)?;
    cx.get(cx.all()).await?.lists(&["a", "b"])?;
    Ok(())
}

async fn unknown(cx: Context) -> Outcome {
    let r = cx.post(format!("{}?dryRun=Some", cx.all()), &cx.object("a")).await?;
    r.fails(422, "Invalid")?.cause("FieldValueNotSupported", "dryRun")?;
    Ok(())
}

async fn silent(cx: Context) -> Outcome {
    let revision = cx.get(cx.all()).await?.revision()?;
    let mut watch = cx.watch(format!("{}?watch=1&resourceVersion={revision}", cx.all())).await?;
    cx.post(format!("{}?dryRun=All", cx.all()), &cx.object("a")).await?.is(201)?;
    cx.create("b").await?;
    watch.expect("ADDED", "b").await?;
    Ok(())
}

async fn generate_name(cx: Context) -> Outcome {
    let mut object = cx.object("");
    object["metadata"] = json!({"generateName": "g-"});
    cx.post(format!("{}?dryRun=All", cx.all()), &object).await?.is(201)?;
    cx.get(cx.all()).await?.lists(&[])?;
    Ok(())
}

async fn status(cx: Context) -> Outcome {
    cx.create("a").await?;
    let r =
        cx.merge(format!("{}/status?dryRun=All", cx.one("a")), &json!({"status": {"phase": "x"}})).await?;
    r.is(200)?.eq("/status/phase", "x")?;
    cx.get(cx.one("a")).await?.absent("/status")?;
    Ok(())
}

async fn strict(cx: Context) -> Outcome {
    let object = cx.gadget("a", json!({"size": 1, "nonsense": 2}));
    let r = cx.post(format!("{}?fieldValidation=Strict", cx.all_of(&GADGET)), &object).await?;
    r.fails(400, "BadRequest")?.mentions("strict decoding error: unknown field \"spec.nonsense\"")?;
    Ok(())
}

async fn warn(cx: Context) -> Outcome {
    let object = cx.gadget("a", json!({"size": 1, "nonsense": 2}));
    let r = cx.create_at(format!("{}?fieldValidation=Warn", cx.all_of(&GADGET)), &object).await?;
    r.absent("/spec/nonsense")?;
    equal("warnings", ["unknown field \"spec.nonsense\""], r.warnings())
}

async fn ignore(cx: Context) -> Outcome {
    let object = cx.gadget("a", json!({"size": 1, "nonsense": 2}));
    let r = cx.create_at(format!("{}?fieldValidation=Ignore", cx.all_of(&GADGET)), &object).await?;
    r.absent("/spec/nonsense")?;
    holds(r.warnings().is_empty(), "no warnings", format!("{:?}", r.warnings()))
}

async fn duplicate(cx: Context) -> Outcome {
    let text = cx.gadget("a", json!({"size": 1})).to_string().replace("\"size\":1", "\"size\":1,\"size\":2");
    let path = format!("{}?fieldValidation=Strict", cx.all_of(&GADGET));
    let r = cx.call(http::Method::POST, path).bytes("application/json", text).send().await?;
    r.fails(400, "BadRequest")?.mentions("duplicate field \"spec.size\"")?;
    Ok(())
}

async fn bad_directive(cx: Context) -> Outcome {
    let r = cx.post(format!("{}?fieldValidation=Nonsense", cx.all()), &cx.object("a")).await?;
    r.fails(422, "Invalid")?.cause("FieldValueNotSupported", "fieldValidation")?;
    Ok(())
}

async fn strict_builtin(cx: Context) -> Outcome {
    let object = cx.object_of(&CONFIG_MAP, "a", json!({"nonsense": 1}));
    let r = cx.post(format!("{}?fieldValidation=Strict", cx.all_of(&CONFIG_MAP)), &object).await?;
    r.fails(400, "BadRequest")?.mentions("unknown field \"nonsense\"")?;
    Ok(())
}

async fn strict_patch(cx: Context) -> Outcome {
    cx.create_at(cx.all_of(&GADGET), &cx.gadget("a", json!({"size": 1}))).await?;
    let path = format!("{}?fieldValidation=Strict", cx.one_of(&GADGET, "a"));
    let r = cx.merge(path, &json!({"spec": {"nonsense": 2}})).await?;
    r.fails(422, "Invalid")?.mentions("spec.nonsense")?;
    Ok(())
}
