//! `x-kubernetes-validations`: what rules can access, which values they reject with which messages, and which rules are invalid. Servers
//! before 1.25 ignore all rules, so nothing here applies to them.

use http::Method;
use serde_json::{Value, json};

use crate::{
    case::{Case, custom, since},
    check::Outcome,
    context::Context,
    kinds::{self, RULED},
    server::CRDS,
};

/// The result of a rule: reason and path of the cause, and its message.
type Objection = (&'static str, &'static str, &'static str);

/// Minor version since when, old value, new value, and the expected result.
struct Write {
    since: u32,
    before: Option<Value>,
    spec: Value,
    objection: Option<Objection>,
}

fn new(spec: Value, objection: Objection) -> Write {
    Write { since: 25, before: None, spec, objection: Some(objection) }
}

fn fine(spec: Value) -> Write {
    Write { since: 25, before: None, spec, objection: None }
}

fn change(before: Value, spec: Value, objection: Objection) -> Write {
    Write { since: 25, before: Some(before), spec, objection: Some(objection) }
}

fn fine_change(before: Value, spec: Value) -> Write {
    Write { since: 25, before: Some(before), spec, objection: None }
}

const INVALID: &str = "FieldValueInvalid";

// One row per line.
#[rustfmt::skip]
fn writes() -> Vec<(&'static str, &'static str, Write)> {
    vec![
        ("scalar", "a rule of a number: the value and the rule are said", new(json!({"number": 1}), (INVALID, "spec.number", "1: failed rule: self > 5"))),
        ("scalar-holds", "a rule of a number that holds", fine(json!({"number": 6}))),
        ("string", "a rule of a text, with its message", new(json!({"text": "b"}), (INVALID, "spec.text", "must start with a"))),
        ("boolean", "a rule of a boolean", new(json!({"flag": false}), (INVALID, "spec.flag", "failed rule: self"))),
        ("fraction", "a whole number is a fraction where the schema says so", fine(json!({"ratio": 1}))),
        ("list-item", "a rule of items, with the index of the item", new(json!({"list": ["a", "bad"]}), (INVALID, "spec.list[1]", "failed rule: self != 'bad'"))),
        ("list", "a rule of a list", new(json!({"list": ["a", "b", "c"]}), (INVALID, "spec.list", "failed rule: self.size() < 3"))),
        ("map", "a rule of a map can access its keys", new(json!({"map": {"x": 1}}), (INVALID, "spec.map", "failed rule: self.all(k, k != 'x')"))),
        ("map-value", "a rule of the values of a map, with the key", new(json!({"map": {"y": 0}}), (INVALID, "spec.map[y]", "failed rule: self > 0"))),
        ("missing-field", "a rule that reads a missing field fails with the error of its evaluation", new(json!({"pair": {"a": "q"}}), (INVALID, "spec.pair", "no such key: b evaluating rule"))),
        ("division", "a rule that divides by zero fails with the error of its evaluation", new(json!({"divisor": 0}), (INVALID, "spec.divisor", "division by zero evaluating rule: 10 / self > 1"))),
        ("date-time", "a date-time is a timestamp", new(json!({"when": "2019-01-01T00:00:00Z"}), (INVALID, "spec.when", "failed rule"))),
        ("duration", "a duration is a duration", new(json!({"lasts": "20m"}), (INVALID, "spec.lasts", "failed rule"))),
        ("int-or-string", "an int-or-string is of the type it has", new(json!({"port": 2}), (INVALID, "spec.port", "failed rule"))),
        ("int-or-string-text", "an int-or-string that is a text", fine(json!({"port": "x"}))),
        ("escaped-dash", "a property with a dash is called __dash__", new(json!({"name-x": "z"}), (INVALID, "spec", "name__dash__x"))),
        ("escaped-keyword", "a property named like a keyword is escaped with underscores", new(json!({"in": "z"}), (INVALID, "spec", "__in__"))),
        ("escaped-while", "every reserved word of CEL is escaped with underscores", new(json!({"while": "z"}), (INVALID, "spec", "__while__"))),
        ("plain-reserved-word", "a reserved word also works unescaped where the grammar accepts it", new(json!({"loop": "z"}), (INVALID, "spec", "self.loop"))),
        ("nullable-null", "a rule is not evaluated for null", fine(json!({"maybe": null}))),
        ("not-asked-of-wrong-type", "rules are not evaluated while a value has the wrong type", new(json!({"number": "x"}), (INVALID, "<nil>", "some validation rules were not checked"))),
        ("asked-despite-other-errors", "rules are evaluated although a pattern does not match", new(json!({"pattern": "ABC", "number": 1}), (INVALID, "spec.number", "failed rule: self > 5"))),
        ("transition-not-on-create", "a rule with oldSelf is not evaluated on create", fine(json!({"fixed": "x"}))),
        ("transition", "a rule with oldSelf is evaluated on update", change(json!({"fixed": "x"}), json!({"fixed": "y"}), (INVALID, "spec.fixed", "fixed for ever"))),
        ("transition-added", "a rule with oldSelf is not evaluated when the field is added", fine_change(json!({}), json!({"fixed": "y"}))),
        ("transition-removed", "a rule with oldSelf is not evaluated when the field is removed", fine_change(json!({"fixed": "x"}), json!({"fixed": null}))),
        ("transition-in-map-list", "items of a map list are followed by their key", change(json!({"items": [{"k": "a", "v": 5}, {"k": "b", "v": 1}]}), json!({"items": [{"k": "b", "v": 0}, {"k": "a", "v": 5}]}), (INVALID, "spec.items[0].v", "must not shrink"))),
        ("transition-of-set", "a set's former elements", change(json!({"set": ["a", "b"]}), json!({"set": ["a"]}), (INVALID, "spec.set", "only grows"))),
        ("set-order", "a set in another order is the same set", fine_change(json!({"fixedset": ["a", "b"]}), json!({"fixedset": ["b", "a"]}))),
        ("optional-old-self-create", "optionalOldSelf: evaluated on create too (since 1.29)", Write { since: 29, ..new(json!({"counter": 2}), (INVALID, "spec.counter", "starts at 1")) }),
        ("optional-old-self-update", "optionalOldSelf: the former value is there on update (since 1.29)", Write { since: 29, ..fine_change(json!({"counter": 1}), json!({"counter": 2})) }),
        ("message-expression", "messageExpression, reason and fieldPath (since 1.28)", Write { since: 28, ..new(json!({"pair": {"a": "q", "b": "forbidden"}}), ("FieldValueForbidden", "spec.pair.b", "Forbidden: not forbidden")) }),
        ("reason-required", "reason FieldValueRequired (since 1.28)", Write { since: 28, ..new(json!({"need": {}}), ("FieldValueRequired", "spec.need.p", "Required value: need p")) }),
        ("reason-duplicate", "reason FieldValueDuplicate (since 1.28)", Write { since: 28, ..new(json!({"pair": {"a": "q", "b": "q"}}), ("FieldValueDuplicate", "spec.pair.a", "Duplicate value")) }),
        ("field-path-key", "fieldPath with a key of a map (since 1.28)", Write { since: 28, ..new(json!({"map": {"w": 1}}), (INVALID, "spec.map.[w]", "no w")) }),
        ("message-expression-falls-back", "a messageExpression that comes to nothing gives way to message (since 1.28)", Write { since: 28, ..new(json!({"blank": 2}), (INVALID, "spec.blank", "fallback")) }),
    ]
}

/// An invalid rule, or an invalid field next to it, that is rejected with its CRD: path and message.
// One row per line.
#[rustfmt::skip]
fn rules() -> Vec<(&'static str, &'static str, Value, Objection)> {
    vec![
        ("syntax", "a rule that does not parse", json!({"rule": "self.a =="}), (INVALID, "rule", "compilation failed: ERROR: <input>:1:10: Syntax error")),
        ("undefined-field", "a rule about a field that the schema lacks", json!({"rule": "self.b == 'x'"}), (INVALID, "rule", "undefined field 'b'")),
        ("overload", "a rule that compares a text with a number", json!({"rule": "self.a == 5"}), (INVALID, "rule", "found no matching overload for '_==_' applied to '(string, int)'")),
        ("no-boolean", "a rule that is no boolean", json!({"rule": "self.a"}), (INVALID, "rule", "cel expression must evaluate to a bool")),
        ("undeclared", "a rule about a variable that is not there", json!({"rule": "foo == 5"}), (INVALID, "rule", "undeclared reference to 'foo'")),
        ("undeclared-function", "a rule with a function that is not there", json!({"rule": "foo(self.a)"}), (INVALID, "rule", "undeclared reference to 'foo'")),
        ("empty", "an empty rule", json!({"rule": " "}), ("FieldValueRequired", "rule", "rule is not specified")),
        ("message-lines", "a message of two lines", json!({"rule": "true", "message": "a\nb"}), (INVALID, "message", "must not contain line breaks")),
        ("message-missing", "a rule of two lines without message", json!({"rule": "true &&\n true"}), ("FieldValueRequired", "message", "message must be specified if rule contains line breaks")),
        ("reason", "a reason that is none", json!({"rule": "true", "reason": "Nope"}), ("FieldValueNotSupported", "reason", "\"FieldValueForbidden\"")),
        ("field-path", "a fieldPath that leads nowhere", json!({"rule": "true", "fieldPath": ".zz"}), (INVALID, "fieldPath", "must be a valid path")),
        ("message-expression", "a messageExpression that is no text", json!({"rule": "true", "messageExpression": "5"}), (INVALID, "messageExpression", "messageExpression must evaluate to a string")),
        ("optional-old-self", "optionalOldSelf without oldSelf", json!({"rule": "true", "optionalOldSelf": true}), (INVALID, "optionalOldSelf", "may not be set if oldSelf is not used in rule")),
    ]
}

// One row per line.
#[rustfmt::skip]
pub(crate) fn cases() -> Vec<Case> {
    let writes = writes().into_iter().flat_map(|(id, rule, write)| {
        let write = std::sync::Arc::new(write);
        since(write.since, custom(&format!("cel/{id}"), rule, move |cx| judged(cx, write.clone())))
    });
    let rules = rules().into_iter().flat_map(|(id, what, rule, objection)| {
        since(25, custom(&format!("cel/refuses-rule-{id}-422"), &format!("{what}: 422 with the path and the words of the genuine server"), move |cx| {
            refused(cx, rule.clone(), objection)
        }))
    });
    let others = [
        since(25, custom("cel/root-sees-names", "a rule of the whole object can access kind, apiVersion and the name (since 1.25)", root)),
        since(25, custom("cel/status", "rules of status are evaluated when status is written (since 1.25)", status)),
        since(25, custom("cel/apply", "rules are evaluated on apply too (since 1.25)", applied)),
        since(30, custom("cel/ratchet", "a value older than a rule is accepted while it does not change (since 1.30)", ratchet)),
        since(25, custom("cel/uncorrelatable-422", "oldSelf within a list without keys: the CRD is rejected (since 1.25)", uncorrelatable)),
        since(25, custom("cel/default-must-hold-422", "a default that violates a rule: the CRD is rejected (since 1.25)", default)),
    ];
    writes.chain(rules).chain(others.into_iter().flatten()).collect()
}

fn ruled(cx: &Context, name: &str, spec: &Value) -> Value {
    cx.object_of(&RULED, name, json!({"spec": spec}))
}

async fn judged(cx: Context, write: std::sync::Arc<Write>) -> Outcome {
    let reply = match &write.before {
        None => cx.post(cx.all_of(&RULED), &ruled(&cx, "a", &write.spec)).await?,
        Some(before) => {
            cx.create_at(cx.all_of(&RULED), &ruled(&cx, "a", before)).await?;
            cx.merge(cx.one_of(&RULED, "a"), &json!({"spec": write.spec})).await?
        }
    };
    let Some((reason, field, message)) = write.objection else {
        reply.is(if write.before.is_some() { 200 } else { 201 })?;
        return Ok(());
    };
    reply.fails(422, "Invalid")?.cause(reason, field)?.mentions(message)?;
    Ok(())
}

fn definition(cx: &Context, spec: Value) -> Value {
    let schema = json!({"type": "object", "properties": {"spec": spec}});
    kinds::plain_crd(&cx.own_group(), "Thing", "things", schema)
}

async fn refused(cx: Context, rule: Value, (reason, part, message): Objection) -> Outcome {
    let spec = json!({"type": "object", "properties": {"a": {"type": "string"}}, "x-kubernetes-validations": [rule]});
    let reply = cx.post(format!("{CRDS}?dryRun=All"), &definition(&cx, spec)).await?;
    let field =
        format!("spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].{part}");
    reply.fails(422, "Invalid")?.cause(reason, &field)?.mentions(message)?;
    Ok(())
}

async fn root(cx: Context) -> Outcome {
    cx.create_at(cx.all_of(&RULED), &ruled(&cx, "a", &json!({}))).await?;
    let reply = cx.post(cx.all_of(&RULED), &ruled(&cx, "forbidden", &json!({}))).await?;
    reply.fails(422, "Invalid")?.cause(INVALID, "<nil>")?.mentions("self.metadata.name != 'forbidden'")?;
    Ok(())
}

async fn status(cx: Context) -> Outcome {
    cx.create_at(cx.all_of(&RULED), &ruled(&cx, "a", &json!({}))).await?;
    let path = format!("{}/status", cx.one_of(&RULED, "a"));
    cx.merge(&path, &json!({"status": {"seen": 5}})).await?.is(200)?;
    let reply = cx.merge(&path, &json!({"status": {"seen": 4}})).await?;
    reply.fails(422, "Invalid")?.cause(INVALID, "status.seen")?;
    Ok(())
}

async fn applied(cx: Context) -> Outcome {
    let reply = cx.apply(cx.one_of(&RULED, "a"), "one", &ruled(&cx, "a", &json!({"number": 1}))).await?;
    reply.fails(422, "Invalid")?.cause(INVALID, "spec.number")?;
    Ok(())
}

async fn ratchet(cx: Context) -> Outcome {
    let spec = |rules: Value| json!({"type": "object", "properties": {"a": {"type": "integer", "x-kubernetes-validations": rules}, "b": {"type": "integer"}}});
    cx.establish(&definition(&cx, spec(json!([])))).await?;
    let thing = json!({"apiVersion": format!("{}/v1", cx.own_group()), "kind": "Thing", "metadata": {"name": "a"}, "spec": {"a": 1}});
    cx.create_at(cx.own("v1", "things"), &thing).await?;
    let crd = format!("{CRDS}/things.{}", cx.own_group());
    let rule = json!({"rule": "self > 100", "message": "too small"});
    let patch = json!([{"op": "replace", "path": "/spec/versions/0/schema/openAPIV3Schema/properties/spec", "value": spec(json!([rule]))}]);
    cx.patch(&crd, crate::context::JSON_PATCH, &patch).await?.is(200)?;
    let one = format!("{}/a", cx.own("v1", "things"));
    // The new schema is active once it refuses.
    let until = tokio::time::Instant::now() + cx.server.wait;
    while cx.merge(format!("{one}?dryRun=All"), &json!({"spec": {"a": 2}})).await?.code == 200
        && tokio::time::Instant::now() < until
    {
        crate::context::pause(100).await;
    }
    cx.merge(&one, &json!({"spec": {"a": 2}})).await?.fails(422, "Invalid")?.mentions("too small")?;
    let other =
        cx.call(Method::PATCH, &one).typed(crate::context::MERGE, &json!({"spec": {"b": 2}})).send().await?;
    other.is(200)?;
    Ok(())
}

async fn uncorrelatable(cx: Context) -> Outcome {
    let spec = json!({"type": "object", "properties": {"l": {"type": "array", "maxItems": 5, "items": {"type": "string", "maxLength": 5,
        "x-kubernetes-validations": [{"rule": "self == oldSelf"}]}}}});
    let reply = cx.post(format!("{CRDS}?dryRun=All"), &definition(&cx, spec)).await?;
    reply
        .fails(422, "Invalid")?
        .mentions("oldSelf cannot be used on the uncorrelatable portion of the schema")?;
    Ok(())
}

async fn default(cx: Context) -> Outcome {
    let spec = json!({"type": "object", "properties": {"a": {"type": "integer", "default": 3, "x-kubernetes-validations": [{"rule": "self > 5"}]}}});
    let reply = cx.post(format!("{CRDS}?dryRun=All"), &definition(&cx, spec)).await?;
    let field = "spec.validation.openAPIV3Schema.properties[spec].properties[a].default";
    reply.fails(422, "Invalid")?.cause(INVALID, field)?.mentions("failed rule: self > 5")?;
    Ok(())
}
