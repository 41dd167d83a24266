//! Create: what is stored, what is refused, and name generation.

use serde_json::{Value, json};

use crate::{
    case::{Case, core, custom, each, since},
    check::{Outcome, holds},
    context::Context,
    kinds::{CONFIG_MAP, WIDGET},
    subject::Subject,
};

// One row per line.
#[rustfmt::skip]
pub(crate) fn cases() -> Vec<Case> {
    [
        each("create/answers-201-with-the-stored-object", "POST returns 201 with the object as stored", answers_201),
        each("create/system-fields-are-set", "uid, resourceVersion and creationTimestamp are set by the server", system_fields),
        each("create/system-fields-of-client-ignored", "uid, creationTimestamp and deletionTimestamp sent by a client are ignored", client_system_fields),
        each("create/resource-version-refused", "metadata.resourceVersion must not be set on create: 400", resource_version),
        each("create/existing-409", "a name that exists: 409 AlreadyExists, details name it", existing),
        each("create/same-name-in-other-kind", "names are per kind and namespace", same_name_other_kind),
        each("create/generate-name-appends-five-characters", "generateName gets a suffix of five characters", generate_name),
        each("create/generate-name-kept", "generateName stays on the object", generate_name_kept),
        each("create/name-wins-over-generate-name", "with both, name is used as it is", name_wins),
        each("create/generate-name-long-is-cut", "a long generateName is cut so that the name fits in 63 characters", generate_name_long),
        each("create/no-name-422", "neither name nor generateName: 422 Invalid with a cause for metadata.name", no_name),
        each("create/kind-missing-400", "a body without kind: 400", kind_missing),
        each("create/kind-mismatch", "a body of another kind than the path: 400, 422 for custom resources", kind_mismatch),
        each("create/api-version-mismatch-400", "a body of another apiVersion than the path: 400", api_version_mismatch),
        each("create/namespace-mismatch-400", "a namespace in the body that is not the path's: 400", namespace_mismatch),
        each("create/namespace-filled-in", "the path's namespace is filled in", namespace_filled),
        each("create/managed-fields-record-the-create", "managedFields records manager, Update, apiVersion, FieldsV1 and time", managed_fields),
        each("create/field-manager-parameter", "fieldManager names the manager in managedFields", field_manager),
        each("create/manager-defaults-to-user-agent", "without fieldManager, the manager is the user agent up to the first slash", user_agent_manager),
        each("create/field-manager-too-long-422", "a fieldManager over 128 characters is refused", field_manager_long),
        each("create/labels-and-annotations-kept", "labels and annotations are stored", labels_kept),
        each("create/bad-label-value-422", "a label value outside the syntax: 422 with a cause", bad_label),
        each("create/bad-label-key-422", "a label key outside the syntax: 422", bad_label_key),
        each("create/bad-annotation-key-422", "an annotation key outside the syntax: 422", bad_annotation_key),
        each("create/annotations-too-big-422", "annotations over 256 KiB in sum: 422", annotations_too_big),
        since(37, each("create/owner-reference-needs-uid-422", "an owner reference without uid: 422 Required", owner_without_uid)),
        each("create/two-controllers-422", "two owner references with controller: true: 422", two_controllers),
        each("create/finalizer-syntax-422", "a finalizer that is no qualified name: 422", bad_finalizer),
        custom("create/generation-starts-at-1", "a custom resource starts with generation 1", generation),
        custom("create/status-dropped-with-subresource", "status sent on create is dropped where there is a status subresource", status_dropped),
        core("create/core-kind", "a built-in kind of the core group is created", core_kind),
        core("create/unknown-field-ignored", "an unknown field of a built-in kind is dropped", unknown_field_builtin),
    ]
    .into_iter()
    .chain(BAD_NAMES.iter().map(|(id, name)| {
        let name = name.to_string();
        each(id, "a name that is no DNS subdomain: 422 Invalid with a cause for metadata.name", move |cx| {
            bad_name(cx, name.clone())
        })
    }))
    .flatten()
    .collect()
}

const BAD_NAMES: [(&str, &str); 4] = [
    ("create/name-upper-case-422", "Upper"),
    ("create/name-underscore-422", "a_b"),
    ("create/name-leading-dash-422", "-a"),
    (
        "create/name-too-long-422",
        concat!(
            "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
            "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
            "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
            "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        ),
    ),
];

fn with_metadata(cx: &Context, metadata: Value) -> Value {
    cx.object_of(cx.kind(), "a", json!({"metadata": metadata}))
}

async fn answers_201(cx: Context) -> Outcome {
    let r = cx.create("a").await?;
    r.eq("/kind", cx.kind().kind)?.eq("/apiVersion", cx.api_version(cx.kind()))?.eq("/metadata/name", "a")?;
    r.eq("/spec/holderIdentity", "first")?;
    let got = cx.get(cx.one("a")).await?;
    holds(got.body == r.body, &r.text, &got.text)
}

async fn system_fields(cx: Context) -> Outcome {
    let r = cx.create("a").await?;
    let uid = r.str("/metadata/uid")?;
    holds(uid.len() == 36 && uid.matches('-').count() == 4, "a UUID", &uid)?;
    let revision = r.revision()?;
    holds(revision.parse::<u64>().is_ok_and(|n| n > 0), "a positive number", revision)?;
    let time = r.str("/metadata/creationTimestamp")?;
    holds(time.len() == 20 && time.ends_with('Z'), "RFC 3339 in whole seconds, UTC", time)
}

async fn client_system_fields(cx: Context) -> Outcome {
    let sent = json!({"uid": "11111111-1111-4111-8111-111111111111", "creationTimestamp": "2001-01-01T00:00:00Z",
        "deletionTimestamp": "2001-01-01T00:00:00Z", "generation": 77});
    let r = cx.create_at(cx.all(), &with_metadata(&cx, sent)).await?;
    r.absent("/metadata/deletionTimestamp")?;
    holds(r.str("/metadata/uid")? != "11111111-1111-4111-8111-111111111111", "another uid", &r.text)?;
    holds(!r.str("/metadata/creationTimestamp")?.starts_with("2001"), "the time of now", &r.text)
}

async fn resource_version(cx: Context) -> Outcome {
    let r = cx.post(cx.all(), &with_metadata(&cx, json!({"resourceVersion": "5"}))).await?;
    // Refused by the storage layer, without a code of its own.
    r.is(500)?;
    r.mentions("resourceVersion should not be set on objects to be created")?;
    Ok(())
}

async fn existing(cx: Context) -> Outcome {
    cx.create("a").await?;
    let r = cx.post(cx.all(), &cx.object("a")).await?;
    r.fails(409, "AlreadyExists")?.eq("/details/name", "a")?.eq("/details/kind", cx.kind().plural)?;
    r.says(&format!("{} \"a\" already exists", cx.qualified(cx.kind())))?;
    Ok(())
}

async fn same_name_other_kind(cx: Context) -> Outcome {
    cx.create("a").await?;
    let gadget = cx.gadget("a", json!({"size": 1}));
    cx.create_at(cx.all_of(&crate::kinds::GADGET), &gadget).await?;
    Ok(())
}

async fn generate_name(cx: Context) -> Outcome {
    let mut object = cx.object("");
    object["metadata"] = json!({"generateName": "gen-"});
    let (one, two) = (cx.create_at(cx.all(), &object).await?, cx.create_at(cx.all(), &object).await?);
    let (one, two) = (one.str("/metadata/name")?, two.str("/metadata/name")?);
    holds(one.len() == 9 && one.starts_with("gen-"), "gen- and five characters", &one)?;
    holds(one != two, "another name each time", &two)
}

async fn generate_name_kept(cx: Context) -> Outcome {
    let mut object = cx.object("");
    object["metadata"] = json!({"generateName": "gen-"});
    cx.create_at(cx.all(), &object).await?.eq("/metadata/generateName", "gen-")?;
    Ok(())
}

async fn name_wins(cx: Context) -> Outcome {
    let r = cx.create_at(cx.all(), &with_metadata(&cx, json!({"generateName": "gen-"}))).await?;
    r.eq("/metadata/name", "a")?;
    Ok(())
}

async fn generate_name_long(cx: Context) -> Outcome {
    let mut object = cx.object("");
    object["metadata"] = json!({"generateName": "x".repeat(80)});
    let name = cx.create_at(cx.all(), &object).await?.str("/metadata/name")?;
    holds(name.len() == 63 && name.starts_with(&"x".repeat(58)), "58 characters and a suffix of 5", name)
}

async fn no_name(cx: Context) -> Outcome {
    let mut object = cx.object("");
    object["metadata"] = json!({});
    let r = cx.post(cx.all(), &object).await?;
    r.fails(422, "Invalid")?
        .cause("FieldValueRequired", "metadata.name")?
        .mentions("name or generateName is required")?;
    Ok(())
}

async fn kind_missing(cx: Context) -> Outcome {
    let mut object = cx.object("a");
    object["kind"] = json!("");
    let r = cx.post(cx.all(), &object).await?;
    // Built-in kinds default to the kind of the path.
    if cx.kind().group.is_none() {
        r.fails(400, "BadRequest")?.mentions("Kind")?
    } else {
        r.is(201)?
    };
    Ok(())
}

async fn kind_mismatch(cx: Context) -> Outcome {
    let mut object = cx.object("a");
    object["kind"] = json!("Nonsense");
    let r = cx.post(cx.all(), &object).await?;
    match cx.subject {
        Subject::Custom => {
            r.fails(422, "Invalid")?.cause("FieldValueInvalid", "kind")?.mentions("must be Widget")?
        }
        Subject::Builtin => r.fails(400, "BadRequest")?.mentions("Nonsense")?,
    };
    Ok(())
}

async fn api_version_mismatch(cx: Context) -> Outcome {
    let mut object = cx.object("a");
    object["apiVersion"] = json!("nonsense.example/v1");
    cx.post(cx.all(), &object).await?.fails(400, "BadRequest")?.mentions("nonsense.example/v1")?;
    Ok(())
}

async fn namespace_mismatch(cx: Context) -> Outcome {
    let r = cx.post(cx.all(), &with_metadata(&cx, json!({"namespace": "elsewhere"}))).await?;
    r.fails(400, "BadRequest")?
        .says("the namespace of the provided object does not match the namespace sent on the request")?;
    Ok(())
}

async fn namespace_filled(cx: Context) -> Outcome {
    cx.create("a").await?.eq("/metadata/namespace", cx.ns.clone())?;
    Ok(())
}

async fn managed_fields(cx: Context) -> Outcome {
    let r = cx.create("a").await?;
    r.eq("/metadata/managedFields/0/operation", "Update")?
        .eq("/metadata/managedFields/0/fieldsType", "FieldsV1")?;
    r.eq("/metadata/managedFields/0/apiVersion", cx.api_version(cx.kind()))?
        .has("/metadata/managedFields/0/time")?;
    r.eq("/metadata/managedFields/0/fieldsV1/f:spec/f:holderIdentity", json!({}))?;
    r.absent("/metadata/managedFields/0/fieldsV1/f:metadata/f:name")?.absent("/metadata/managedFields/1")?;
    Ok(())
}

async fn field_manager(cx: Context) -> Outcome {
    let r = cx.create_at(format!("{}?fieldManager=me", cx.all()), &cx.object("a")).await?;
    r.eq("/metadata/managedFields/0/manager", "me")?;
    Ok(())
}

async fn user_agent_manager(cx: Context) -> Outcome {
    let call =
        cx.call(http::Method::POST, cx.all()).header("user-agent", "tool/1.2 (linux)").json(&cx.object("a"));
    call.send().await?.is(201)?.eq("/metadata/managedFields/0/manager", "tool")?;
    Ok(())
}

async fn field_manager_long(cx: Context) -> Outcome {
    let r = cx.post(format!("{}?fieldManager={}", cx.all(), "m".repeat(129)), &cx.object("a")).await?;
    r.fails(422, "Invalid")?.cause("FieldValueTooLong", "fieldManager")?;
    Ok(())
}

async fn labels_kept(cx: Context) -> Outcome {
    let sent =
        json!({"labels": {"app.example/x": "Y_1", "empty": ""}, "annotations": {"note": "any text: ü {}"}});
    let r = cx.create_at(cx.all(), &with_metadata(&cx, sent.clone())).await?;
    r.eq("/metadata/labels", sent["labels"].clone())?
        .eq("/metadata/annotations", sent["annotations"].clone())?;
    Ok(())
}

async fn bad_label(cx: Context) -> Outcome {
    let r = cx.post(cx.all(), &with_metadata(&cx, json!({"labels": {"a": "not valid"}}))).await?;
    r.fails(422, "Invalid")?.cause("FieldValueInvalid", "metadata.labels")?;
    Ok(())
}

async fn bad_label_key(cx: Context) -> Outcome {
    let r = cx.post(cx.all(), &with_metadata(&cx, json!({"labels": {"a/b/c": "x"}}))).await?;
    r.fails(422, "Invalid")?.cause("FieldValueInvalid", "metadata.labels")?;
    Ok(())
}

async fn bad_annotation_key(cx: Context) -> Outcome {
    let r = cx.post(cx.all(), &with_metadata(&cx, json!({"annotations": {"a b": "x"}}))).await?;
    r.fails(422, "Invalid")?.cause("FieldValueInvalid", "metadata.annotations")?;
    Ok(())
}

async fn annotations_too_big(cx: Context) -> Outcome {
    let r =
        cx.post(cx.all(), &with_metadata(&cx, json!({"annotations": {"a": "x".repeat(256 * 1024)}}))).await?;
    r.fails(422, "Invalid")?.cause("FieldValueTooLong", "metadata.annotations")?;
    Ok(())
}

fn owner(uid: &str, controller: bool) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": uid, "controller": controller})
}

async fn owner_without_uid(cx: Context) -> Outcome {
    let r = cx.post(cx.all(), &with_metadata(&cx, json!({"ownerReferences": [owner("", false)]}))).await?;
    r.fails(422, "Invalid")?.cause("FieldValueRequired", "metadata.ownerReferences[0].uid")?;
    Ok(())
}

async fn two_controllers(cx: Context) -> Outcome {
    let r = cx
        .post(
            cx.all(),
            &with_metadata(&cx, json!({"ownerReferences": [owner("u1", true), owner("u2", true)]})),
        )
        .await?;
    r.fails(422, "Invalid")?.cause("FieldValueInvalid", "metadata.ownerReferences")?;
    Ok(())
}

async fn bad_finalizer(cx: Context) -> Outcome {
    let r = cx.post(cx.all(), &with_metadata(&cx, json!({"finalizers": ["not valid"]}))).await?;
    r.fails(422, "Invalid")?.cause("FieldValueInvalid", "metadata.finalizers")?;
    Ok(())
}

async fn generation(cx: Context) -> Outcome {
    cx.create("a").await?.eq("/metadata/generation", 1)?;
    Ok(())
}

async fn status_dropped(cx: Context) -> Outcome {
    let object = cx.object_of(&WIDGET, "a", json!({"spec": {}, "status": {"phase": "Ready"}}));
    cx.create_at(cx.all(), &object).await?.absent("/status")?;
    Ok(())
}

async fn core_kind(cx: Context) -> Outcome {
    let object = cx.object_of(&CONFIG_MAP, "a", json!({"data": {"k": "v"}}));
    let r = cx.create_at(cx.all_of(&CONFIG_MAP), &object).await?;
    r.eq("/apiVersion", "v1")?
        .eq("/kind", "ConfigMap")?
        .eq("/data/k", "v")?
        .absent("/metadata/generation")?;
    Ok(())
}

async fn unknown_field_builtin(cx: Context) -> Outcome {
    let object = cx.object_of(&CONFIG_MAP, "a", json!({"nonsense": 1}));
    cx.create_at(cx.all_of(&CONFIG_MAP), &object).await?.absent("/nonsense")?;
    Ok(())
}

async fn bad_name(cx: Context, name: String) -> Outcome {
    let r = cx.post(cx.all(), &cx.object(&name)).await?;
    r.fails(422, "Invalid")?.cause("FieldValueInvalid", "metadata.name")?.eq("/details/name", name)?;
    Ok(())
}
