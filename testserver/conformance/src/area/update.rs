//! Update by PUT: optimistic locking, immutable fields, generation.

use serde_json::{Value, json};

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
        each("update/replaces-the-object", "PUT replaces the whole object; omitted fields are removed", replaces),
        each("update/new-resource-version", "a change gives a new, higher resourceVersion", new_version),
        each("update/stale-409", "a stale resourceVersion: 409 Conflict with the well-known message", stale),
        each("update/no-op-keeps-resource-version", "an update without a change keeps the resourceVersion", no_op),
        each("update/without-resource-version-422", "kinds without unconditional update: 422, resourceVersion must be specified", unconditional_refused),
        core("update/unconditional-of-config-map", "a ConfigMap may be replaced without resourceVersion", unconditional),
        each("update/name-mismatch-400", "a name that is not the path's: 400", name_mismatch),
        each("update/namespace-mismatch-400", "a namespace that is not the path's: 400", namespace_mismatch),
        each("update/uid-mismatch-409", "another uid than the stored one: 409 Conflict", uid_mismatch),
        each("update/uid-left-out-is-kept", "an omitted uid is kept", uid_left_out),
        each("update/creation-timestamp-kept", "creationTimestamp cannot be changed", creation_kept),
        each("update/deletion-timestamp-422", "deletionTimestamp cannot be set by an update: 422, immutable", deletion_refused),
        each("update/labels-removed", "omitted labels are removed", labels_removed),
        each("update/invalid-label-422", "metadata is validated on update", invalid_label),
        each("update/resource-version-garbage", "a resourceVersion that is no number is rejected", garbage_version),
        custom("update/generation-follows-spec", "a change of spec adds 1 to generation", generation_spec),
        custom("update/generation-not-for-metadata", "a change of labels does not change generation", generation_metadata),
        custom("update/generation-from-client-ignored", "generation sent by a client is ignored", generation_client),
        since(22, custom("update/status-ignored", "status is not changed through the main resource", status_ignored)),
        custom("update/generation-without-status-subresource", "without a status subresource a change of any field but metadata changes generation", generation_plain),
        each("update/managed-fields-time-moves", "managedFields record the manager of the update", managed),
        each("update/two-managers-two-entries", "another manager gets its own entry and the ownership of the fields it changed", two_managers),
        each("update/empty-managed-fields-resets", "managedFields of one empty entry clears them", reset_managed),
        each("update/field-manager-parameter", "fieldManager names the manager of the update", manager_parameter),
        each("update/race-one-wins", "of two updates of the same version exactly one wins", race),
    ]
    .concat()
}

async fn stored(cx: &Context) -> Result<Value, crate::check::Failure> {
    Ok(cx.create("a").await?.body)
}

async fn replaces(cx: Context) -> Outcome {
    let mut object = stored(&cx).await?;
    object["spec"] = json!({"holderIdentity": "second"});
    let r = cx.put(cx.one("a"), &object).await?;
    r.is(200)?.eq("/spec", json!({"holderIdentity": "second"}))?;
    cx.get(cx.one("a")).await?.eq("/spec", json!({"holderIdentity": "second"}))?;
    Ok(())
}

async fn new_version(cx: Context) -> Outcome {
    let mut object = stored(&cx).await?;
    object["spec"]["holderIdentity"] = json!("second");
    let r = cx.put(cx.one("a"), &object).await?;
    let number = |v: &Value| v["metadata"]["resourceVersion"].as_str().and_then(|s| s.parse::<u64>().ok());
    holds(number(&r.body) > number(&object), "a higher resourceVersion", &r.text)
}

async fn stale(cx: Context) -> Outcome {
    let mut object = stored(&cx).await?;
    object["spec"]["holderIdentity"] = json!("second");
    cx.put(cx.one("a"), &object).await?.is(200)?;
    object["spec"]["holderIdentity"] = json!("third");
    let r = cx.put(cx.one("a"), &object).await?;
    r.fails(409, "Conflict")?.eq("/details/name", "a")?.eq("/details/kind", cx.kind().plural)?;
    r.says(&format!(
        "Operation cannot be fulfilled on {} \"a\": the object has been modified; please apply your changes to the latest version and try again",
        cx.qualified(cx.kind())
    ))?;
    Ok(())
}

async fn no_op(cx: Context) -> Outcome {
    let object = stored(&cx).await?;
    let r = cx.put(cx.one("a"), &object).await?;
    r.is(200)?;
    equal("the object after an update without a change", &object, &r.body)
}

async fn unconditional_refused(cx: Context) -> Outcome {
    stored(&cx).await?;
    let r = cx.put(cx.one("a"), &cx.object("a")).await?;
    r.fails(422, "Invalid")?
        .cause("FieldValueInvalid", "metadata.resourceVersion")?
        .mentions("must be specified for an update")?;
    Ok(())
}

async fn unconditional(cx: Context) -> Outcome {
    let path = cx.one_of(&CONFIG_MAP, "a");
    cx.create_at(cx.all_of(&CONFIG_MAP), &cx.object_of(&CONFIG_MAP, "a", json!({"data": {"k": "1"}})))
        .await?;
    cx.put(&path, &cx.object_of(&CONFIG_MAP, "a", json!({"data": {"l": "2"}})))
        .await?
        .is(200)?
        .eq("/data", json!({"l": "2"}))?;
    Ok(())
}

async fn name_mismatch(cx: Context) -> Outcome {
    let mut object = stored(&cx).await?;
    object["metadata"]["name"] = json!("b");
    let r = cx.put(cx.one("a"), &object).await?;
    r.fails(400, "BadRequest")?.says("the name of the object (b) does not match the name on the URL (a)")?;
    Ok(())
}

async fn namespace_mismatch(cx: Context) -> Outcome {
    let mut object = stored(&cx).await?;
    object["metadata"]["namespace"] = json!("elsewhere");
    cx.put(cx.one("a"), &object).await?.fails(400, "BadRequest")?.mentions("does not match the namespace")?;
    Ok(())
}

async fn uid_mismatch(cx: Context) -> Outcome {
    let mut object = stored(&cx).await?;
    object["metadata"]["uid"] = json!("11111111-1111-4111-8111-111111111111");
    let r = cx.put(cx.one("a"), &object).await?;
    r.fails(409, "Conflict")?.mentions("Precondition failed: UID in precondition")?;
    Ok(())
}

async fn uid_left_out(cx: Context) -> Outcome {
    let mut object = stored(&cx).await?;
    let uid = object["metadata"]["uid"].take();
    object["spec"]["holderIdentity"] = json!("second");
    cx.put(cx.one("a"), &object).await?.is(200)?.eq("/metadata/uid", uid)?;
    Ok(())
}

async fn creation_kept(cx: Context) -> Outcome {
    let mut object = stored(&cx).await?;
    let time = std::mem::replace(&mut object["metadata"]["creationTimestamp"], json!("2001-01-01T00:00:00Z"));
    object["spec"]["holderIdentity"] = json!("second");
    cx.put(cx.one("a"), &object).await?.is(200)?.eq("/metadata/creationTimestamp", time)?;
    Ok(())
}

async fn deletion_refused(cx: Context) -> Outcome {
    let mut object = stored(&cx).await?;
    object["metadata"]["deletionTimestamp"] = json!("2030-01-01T00:00:00Z");
    cx.put(cx.one("a"), &object)
        .await?
        .fails(422, "Invalid")?
        .cause("FieldValueInvalid", "metadata.deletionTimestamp")?;
    Ok(())
}

async fn labels_removed(cx: Context) -> Outcome {
    let mut object = cx
        .create_at(
            cx.all(),
            &cx.object_of(cx.kind(), "a", json!({"metadata": {"labels": {"x": "1", "y": "2"}}})),
        )
        .await?
        .body;
    object["metadata"]["labels"] = json!({"y": "2"});
    cx.put(cx.one("a"), &object).await?.is(200)?.eq("/metadata/labels", json!({"y": "2"}))?;
    Ok(())
}

async fn invalid_label(cx: Context) -> Outcome {
    let mut object = stored(&cx).await?;
    object["metadata"]["labels"] = json!({"x": "not valid"});
    cx.put(cx.one("a"), &object)
        .await?
        .fails(422, "Invalid")?
        .cause("FieldValueInvalid", "metadata.labels")?;
    Ok(())
}

async fn garbage_version(cx: Context) -> Outcome {
    let mut object = stored(&cx).await?;
    object["metadata"]["resourceVersion"] = json!("abc");
    let r = cx.put(cx.one("a"), &object).await?;
    holds((400..=500).contains(&r.code), "a refusal", &r.text)?;
    r.eq("/kind", "Status")?;
    Ok(())
}

async fn generation_spec(cx: Context) -> Outcome {
    let mut object = stored(&cx).await?;
    object["spec"]["holderIdentity"] = json!("second");
    cx.put(cx.one("a"), &object).await?.is(200)?.eq("/metadata/generation", 2)?;
    Ok(())
}

async fn generation_metadata(cx: Context) -> Outcome {
    let mut object = stored(&cx).await?;
    object["metadata"]["labels"] = json!({"x": "1"});
    cx.put(cx.one("a"), &object).await?.is(200)?.eq("/metadata/generation", 1)?;
    Ok(())
}

async fn generation_client(cx: Context) -> Outcome {
    let mut object = stored(&cx).await?;
    object["metadata"]["generation"] = json!(50);
    object["spec"]["holderIdentity"] = json!("second");
    cx.put(cx.one("a"), &object).await?.is(200)?.eq("/metadata/generation", 2)?;
    Ok(())
}

async fn status_ignored(cx: Context) -> Outcome {
    let mut object = stored(&cx).await?;
    object["status"] = json!({"phase": "Ready"});
    let r = cx.put(cx.one("a"), &object).await?;
    r.is(200)?.absent("/status")?;
    let same = r.body["metadata"]["resourceVersion"] == object["metadata"]["resourceVersion"];
    holds(same, "no write", &r.text)
}

async fn generation_plain(cx: Context) -> Outcome {
    let mut object = cx.create_at(cx.all_of(&GADGET), &cx.gadget("a", json!({"size": 1}))).await?.body;
    object["spec"]["size"] = json!(2);
    let r = cx.put(cx.one_of(&GADGET, "a"), &object).await?;
    r.is(200)?.eq("/metadata/generation", 2)?;
    let r = cx.merge(cx.one_of(&GADGET, "a"), &json!({"metadata": {"labels": {"x": "1"}}})).await?;
    r.is(200)?.eq("/metadata/generation", 2)?;
    Ok(())
}

async fn managed(cx: Context) -> Outcome {
    let mut object = stored(&cx).await?;
    object["spec"]["leaseDurationSeconds"] = json!(5);
    let r = cx.put(cx.one("a"), &object).await?;
    r.is(200)?.eq("/metadata/managedFields/0/fieldsV1/f:spec/f:leaseDurationSeconds", json!({}))?;
    r.absent("/metadata/managedFields/1")?;
    Ok(())
}

async fn two_managers(cx: Context) -> Outcome {
    let mut object = cx.create_at(format!("{}?fieldManager=one", cx.all()), &cx.object("a")).await?.body;
    object["spec"]["holderIdentity"] = json!("second");
    let r = cx.put(format!("{}?fieldManager=two", cx.one("a")), &object).await?;
    r.is(200)?;
    let owner = |path: &str| {
        let entries = r.body["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
        entries.iter().find(|e| e.pointer(path).is_some()).map(|e| e["manager"].clone())
    };
    equal("owner of holderIdentity", Some(json!("two")), owner("/fieldsV1/f:spec/f:holderIdentity"))?;
    equal("owner of leaseTransitions", Some(json!("one")), owner("/fieldsV1/f:spec/f:leaseTransitions"))
}

async fn reset_managed(cx: Context) -> Outcome {
    let mut object = stored(&cx).await?;
    object["metadata"]["managedFields"] = json!([{}]);
    let r = cx.put(cx.one("a"), &object).await?;
    r.is(200)?.absent("/metadata/managedFields")?;
    Ok(())
}

async fn manager_parameter(cx: Context) -> Outcome {
    let mut object = stored(&cx).await?;
    object["spec"] = json!({"holderIdentity": "second"});
    let r = cx.put(format!("{}?fieldManager=me", cx.one("a")), &object).await?;
    let managers = r.body["metadata"]["managedFields"].to_string();
    holds(managers.contains("\"manager\":\"me\""), "an entry of manager me", managers)
}

async fn race(cx: Context) -> Outcome {
    let object = stored(&cx).await?;
    let attempt = |who: u32| {
        let (cx, mut object) = (cx.clone(), object.clone());
        object["spec"]["holderIdentity"] = json!(format!("racer-{who}"));
        async move { cx.put(cx.one("a"), &object).await.map(|r| r.code) }
    };
    let codes = futures::future::try_join_all((0..6).map(attempt)).await?;
    let won = codes.iter().filter(|c| **c == 200).count();
    let lost = codes.iter().filter(|c| **c == 409).count();
    equal("(won, lost)", (1, 5), (won, lost))
}
