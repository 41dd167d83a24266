//! Structural schemas: validation with error paths, pruning, defaulting, CEL rules.

use serde_json::{Value, json};

use crate::{
    case::{Case, custom, since},
    check::{Outcome, holds},
    context::Context,
    kinds::GADGET,
};

/// Fields of spec besides `size`, and the expected reason and path of the cause.
// One row per line.
#[rustfmt::skip]
fn refused_specs() -> Vec<(&'static str, &'static str, Value, &'static str, &'static str)> {
    vec![
        ("type-integer", "a string where an integer belongs", json!({"level": "x"}), "FieldValueTypeInvalid", "spec.level"),
        ("type-boolean", "a string where a boolean belongs", json!({"flag": "true"}), "FieldValueTypeInvalid", "spec.flag"),
        ("type-string", "a number where a string belongs", json!({"name": 5}), "FieldValueTypeInvalid", "spec.name"),
        ("type-object", "a string where an object belongs", json!({"nested": "x"}), "FieldValueTypeInvalid", "spec.nested"),
        ("type-array", "a string where an array belongs", json!({"list": "x"}), "FieldValueTypeInvalid", "spec.list"),
        ("type-fraction", "a fraction where an integer belongs", json!({"level": 1.5}), "FieldValueTypeInvalid", "spec.level"),
        ("type-item", "an item of the wrong type, with its index", json!({"list": ["a", 5]}), "FieldValueTypeInvalid", "spec.list[1]"),
        ("type-map-value", "a map value of the wrong type, with its key", json!({"few": {"k": "x"}}), "FieldValueTypeInvalid", "spec.few.k"),
        ("maximum", "above maximum", json!({"size": 11}), "FieldValueInvalid", "spec.size"),
        ("minimum", "below minimum", json!({"size": 0}), "FieldValueInvalid", "spec.size"),
        ("exclusive-minimum", "at an exclusive minimum", json!({"ratio": 0}), "FieldValueInvalid", "spec.ratio"),
        ("multiple-of", "no multiple", json!({"even": 3}), "FieldValueInvalid", "spec.even"),
        ("pattern", "a text that does not match the pattern", json!({"name": "ABC"}), "FieldValueInvalid", "spec.name"),
        ("max-length", "a text that is too long", json!({"code": "abcde"}), "FieldValueTooLong", "spec.code"),
        ("min-length", "a text that is too short", json!({"code": "a"}), "FieldValueInvalid", "spec.code"),
        ("enum", "a value outside the enum", json!({"mode": "other"}), "FieldValueNotSupported", "spec.mode"),
        ("date-time", "a text that is no date-time", json!({"when": "yesterday"}), "FieldValueTypeInvalid", "spec.when"),
        ("max-items", "too many items", json!({"list": ["a", "b", "c"]}), "FieldValueTooMany", "spec.list"),
        ("min-items", "too few items", json!({"list": []}), "FieldValueInvalid", "spec.list"),
        ("max-properties", "too many properties", json!({"few": {"a": 1, "b": 2}}), "FieldValueTooMany", "spec.few"),
        ("set-duplicate", "a duplicate in a set", json!({"set": ["a", "a"]}), "FieldValueDuplicate", "spec.set[1]"),
        ("map-duplicate", "a duplicate key in a map list", json!({"map": [{"key": "a"}, {"key": "a"}]}), "FieldValueDuplicate", "spec.map[1]"),
        ("int-or-string", "neither integer nor string", json!({"port": true}), "FieldValueTypeInvalid", "spec.port"),
        ("one-of-none", "none of oneOf", json!({"choice": {}}), "FieldValueInvalid", "<nil>"),
        ("one-of-both", "more than one of oneOf", json!({"choice": {"a": "1", "b": "2"}}), "FieldValueInvalid", "<nil>"),
        ("not", "what `not` forbids", json!({"not9": 9}), "FieldValueInvalid", "<nil>"),
        ("embedded-kind", "an embedded resource without kind", json!({"embedded": {"apiVersion": "v1"}}), "FieldValueRequired", "spec.embedded.kind"),
    ]
}

/// Fields of spec besides `size` that are accepted and stored as they are.
// One row per line.
#[rustfmt::skip]
fn accepted_specs() -> Vec<(&'static str, &'static str, Value)> {
    vec![
        ("bounds", "values at the bounds", json!({"size": 10, "even": 4, "ratio": 0.5})),
        ("int-or-string-int", "an integer for int-or-string", json!({"port": 80})),
        ("int-or-string-string", "a string for int-or-string", json!({"port": "http"})),
        ("nullable", "null where nullable is true is kept", json!({"maybe": null})),
        ("date-time", "a date-time", json!({"when": "2024-02-03T04:05:06Z"})),
        ("integral-float-number", "an integer for a number", json!({"ratio": 2})),
        ("one-of", "exactly one of oneOf", json!({"choice": {"b": "2"}})),
        ("additional-properties", "any key of a map", json!({"few": {"any key": 1}})),
        ("unknown-kept", "unknown fields where they are preserved", json!({"open": {"anything": {"deep": [1]}, "known": 1}})),
        ("embedded", "an embedded resource", json!({"embedded": {"apiVersion": "v1", "kind": "X", "metadata": {"name": "x"}, "more": 1}})),
        ("unicode", "text is any Unicode", json!({"maybe": "ü→😀"})),
    ]
}

// One row per line.
#[rustfmt::skip]
pub(crate) fn cases() -> Vec<Case> {
    let refused = refused_specs().into_iter().flat_map(|(id, rule, spec, reason, field)| {
        // Older servers report another reason, and no index of an item.
        let minor = if matches!(reason, "FieldValueTypeInvalid" | "FieldValueTooLong" | "FieldValueTooMany") { 25 } else { 0 };
        since(minor, custom(&format!("schema/refuses-{id}-422"), &format!("{rule}: 422 with the path of it"), move |cx| {
            refuses(cx, spec.clone(), reason, field)
        }))
    });
    let accepted = accepted_specs().into_iter().flat_map(|(id, rule, spec)| {
        custom(&format!("schema/accepts-{id}"), rule, move |cx| accepts(cx, spec.clone()))
    });
    let others = [
        custom("schema/required-422", "a missing required field: 422 FieldValueRequired with its path", required),
        custom("schema/required-top-level-422", "a missing required top-level field: 422", required_top),
        since(25, custom("schema/all-problems-at-once", "every problem is a cause", all_problems)),
        custom("schema/validated-on-update", "an update is validated", on_update),
        custom("schema/validated-on-patch", "a patch is validated", on_patch),
        custom("schema/validated-on-apply", "an apply is validated", on_apply),
        custom("schema/null-not-nullable-dropped", "null where it is not allowed is dropped", null_dropped),
        custom("schema/prunes-unknown", "an unknown field is dropped, at every depth", prunes),
        custom("schema/prunes-inside-preserve", "inside a preserving object, specified fields are pruned again", prunes_inside),
        custom("schema/prunes-unknown-metadata", "unknown fields of metadata are dropped", prunes_metadata),
        custom("schema/default-top", "a missing field gets its default", default_top),
        custom("schema/default-null", "null gets the default where null is not allowed", default_null),
        custom("schema/default-nested-only-if-parent", "a nested default applies only where its object exists", default_nested),
        custom("schema/default-object-cascades", "the default {} of an object applies the defaults of its fields", default_cascade),
        custom("schema/default-in-items", "defaults apply to items of arrays", default_items),
        custom("schema/default-not-over-value", "a value that is set is kept", default_kept),
        custom("schema/default-on-apply", "an apply without a defaulted field gets the default, which has no owner", default_apply),
        since(25, custom("schema/cel-rule", "a violated CEL rule: an error with its message (since 1.25, ignored before)", cel_rule)),
        since(28, custom("schema/cel-message-expression", "messageExpression, reason and fieldPath of a CEL rule (since 1.28)", cel_expression)),
        since(25, custom("schema/cel-transition", "a transition rule is evaluated on update, not on create", cel_transition)),
    ];
    refused.chain(accepted).chain(others.into_iter().flatten()).collect()
}

fn with_size(spec: &Value) -> Value {
    let mut out = spec.clone();
    if out.get("size").is_none() {
        out["size"] = json!(1);
    }
    out
}

async fn refuses(cx: Context, spec: Value, reason: &str, field: &str) -> Outcome {
    let r = cx.post(cx.all_of(&GADGET), &cx.gadget("a", with_size(&spec))).await?;
    r.fails(422, "Invalid")?
        .mentions("is invalid")?
        .eq("/details/name", "a")?
        .eq("/details/kind", "Gadget")?;
    r.cause(reason, field)?;
    // Without a path in the cause, the message names the field.
    for key in spec.as_object().into_iter().flatten().map(|(key, _)| key) {
        r.mentions(&format!("spec.{key}"))?;
    }
    Ok(())
}

async fn accepts(cx: Context, spec: Value) -> Outcome {
    let r = cx.create_at(cx.all_of(&GADGET), &cx.gadget("a", with_size(&spec))).await?;
    for (key, value) in spec.as_object().into_iter().flatten() {
        r.eq(&format!("/spec/{key}"), value.clone())?;
    }
    Ok(())
}

async fn required(cx: Context) -> Outcome {
    let r = cx.post(cx.all_of(&GADGET), &cx.gadget("a", json!({}))).await?;
    r.fails(422, "Invalid")?.cause("FieldValueRequired", "spec.size")?;
    Ok(())
}

async fn required_top(cx: Context) -> Outcome {
    let r = cx.post(cx.all_of(&GADGET), &cx.object_of(&GADGET, "a", json!({}))).await?;
    r.fails(422, "Invalid")?.cause("FieldValueRequired", "spec")?;
    Ok(())
}

async fn all_problems(cx: Context) -> Outcome {
    let r =
        cx.post(cx.all_of(&GADGET), &cx.gadget("a", json!({"size": 11, "name": "ABC", "flag": 1}))).await?;
    r.fails(422, "Invalid")?.cause("FieldValueInvalid", "spec.size")?;
    r.cause("FieldValueInvalid", "spec.name")?.cause("FieldValueTypeInvalid", "spec.flag")?;
    Ok(())
}

async fn gadget(cx: &Context, spec: Value) -> Result<crate::client::ApiResponse, crate::check::Failure> {
    cx.create_at(cx.all_of(&GADGET), &cx.gadget("a", spec)).await
}

async fn on_update(cx: Context) -> Outcome {
    let mut object = gadget(&cx, json!({"size": 1})).await?.body;
    object["spec"]["size"] = json!(99);
    cx.put(cx.one_of(&GADGET, "a"), &object)
        .await?
        .fails(422, "Invalid")?
        .cause("FieldValueInvalid", "spec.size")?;
    Ok(())
}

async fn on_patch(cx: Context) -> Outcome {
    gadget(&cx, json!({"size": 1})).await?;
    let r = cx.merge(cx.one_of(&GADGET, "a"), &json!({"spec": {"size": null}})).await?;
    r.fails(422, "Invalid")?.cause("FieldValueRequired", "spec.size")?;
    Ok(())
}

async fn on_apply(cx: Context) -> Outcome {
    let r = cx.apply(cx.one_of(&GADGET, "a"), "one", &cx.gadget("a", json!({"size": 99}))).await?;
    r.fails(422, "Invalid")?.cause("FieldValueInvalid", "spec.size")?;
    Ok(())
}

async fn null_dropped(cx: Context) -> Outcome {
    gadget(&cx, json!({"size": 1, "name": null})).await?.absent("/spec/name")?;
    Ok(())
}

async fn prunes(cx: Context) -> Outcome {
    let spec = json!({"size": 1, "nonsense": 1, "nested": {"other": "x", "nonsense": {}}, "rows": [{"id": "r", "nonsense": 1}]});
    let mut object = cx.gadget("a", spec);
    object["nonsense"] = json!(1);
    let r = cx.create_at(cx.all_of(&GADGET), &object).await?;
    r.absent("/nonsense")?
        .absent("/spec/nonsense")?
        .absent("/spec/nested/nonsense")?
        .absent("/spec/rows/0/nonsense")?;
    r.eq("/spec/nested/other", "x")?.eq("/spec/rows/0/id", "r")?;
    Ok(())
}

async fn prunes_inside(cx: Context) -> Outcome {
    let r =
        gadget(&cx, json!({"size": 1, "open": {"free": 1, "shut": {"inner": "x", "nonsense": 1}}})).await?;
    r.eq("/spec/open", json!({"free": 1, "shut": {"inner": "x"}}))?;
    Ok(())
}

async fn prunes_metadata(cx: Context) -> Outcome {
    let fields = json!({"metadata": {"nonsense": "x"}, "spec": {"size": 1}});
    cx.create_at(cx.all_of(&GADGET), &cx.object_of(&GADGET, "a", fields))
        .await?
        .absent("/metadata/nonsense")?;
    Ok(())
}

async fn default_top(cx: Context) -> Outcome {
    gadget(&cx, json!({"size": 1})).await?.eq("/spec/level", 3)?;
    Ok(())
}

async fn default_null(cx: Context) -> Outcome {
    gadget(&cx, json!({"size": 1, "level": null})).await?.eq("/spec/level", 3)?;
    Ok(())
}

async fn default_nested(cx: Context) -> Outcome {
    gadget(&cx, json!({"size": 1})).await?.absent("/spec/nested")?;
    let r = cx.merge(cx.one_of(&GADGET, "a"), &json!({"spec": {"nested": {"other": "x"}}})).await?;
    r.is(200)?.eq("/spec/nested", json!({"other": "x", "deep": "yes"}))?;
    Ok(())
}

async fn default_cascade(cx: Context) -> Outcome {
    gadget(&cx, json!({"size": 1})).await?.eq("/spec/filled", json!({"inside": "made"}))?;
    Ok(())
}

async fn default_items(cx: Context) -> Outcome {
    let r = gadget(&cx, json!({"size": 1, "rows": [{"id": "a"}, {"id": "b", "weight": 5}]})).await?;
    r.eq("/spec/rows", json!([{"id": "a", "weight": 1}, {"id": "b", "weight": 5}]))?;
    Ok(())
}

async fn default_kept(cx: Context) -> Outcome {
    gadget(&cx, json!({"size": 1, "level": 9})).await?.eq("/spec/level", 9)?;
    Ok(())
}

async fn default_apply(cx: Context) -> Outcome {
    let path = cx.one_of(&GADGET, "a");
    cx.apply(&path, "one", &cx.gadget("a", json!({"size": 1, "level": 7})))
        .await?
        .is(201)?
        .eq("/spec/level", 7)?;
    let r = cx.apply(&path, "one", &cx.gadget("a", json!({"size": 1}))).await?;
    r.is(200)?.eq("/spec/level", 3)?;
    let owned = r.body["metadata"]["managedFields"].to_string();
    holds(!owned.contains("f:level"), "no manager owns level", owned)
}

async fn cel_rule(cx: Context) -> Outcome {
    let r = cx.post(cx.all_of(&GADGET), &cx.gadget("a", json!({"size": 1, "low": 5, "high": 4}))).await?;
    r.fails(422, "Invalid")?.cause("FieldValueInvalid", "spec")?.mentions("low must not exceed high")?;
    Ok(())
}

async fn cel_expression(cx: Context) -> Outcome {
    let r = cx.post(cx.all_of(&GADGET), &cx.gadget("a", json!({"size": 1, "low": 13}))).await?;
    r.fails(422, "Invalid")?.cause("FieldValueForbidden", "spec.low")?.mentions("low is 13")?;
    Ok(())
}

async fn cel_transition(cx: Context) -> Outcome {
    gadget(&cx, json!({"size": 1, "fixed": "x"})).await?;
    let r = cx.merge(cx.one_of(&GADGET, "a"), &json!({"spec": {"fixed": "y"}})).await?;
    r.fails(422, "Invalid")?.cause("FieldValueInvalid", "spec.fixed")?.mentions("fixed is immutable")?;
    cx.merge(cx.one_of(&GADGET, "a"), &json!({"spec": {"size": 2}})).await?.is(200)?;
    Ok(())
}
