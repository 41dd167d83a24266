//! Rules about the fields of a schema: their types, presence, values, defaults and merge strategies.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    JSON, JSONSchemaProps, JSONSchemaPropsOrBool,
};

use serde_json::Value;

use super::rule::{Breaks, Check, Finding, Pair, Rule};

pub(super) const RULES: &[Rule] = &[
    Rule::new(
        "type-changed",
        Breaks::ObjectsAndClients,
        "values of the old type are refused, and clients cannot read the new one",
        Check::Type(|Pair { old, new }| {
            let [old, new] = [old, new].map(type_of);
            found(changed("the type", Some(old), Some(new)).filter(|_| !includes(new, old)))
        }),
    ),
    Rule::new(
        "type-widened",
        Breaks::Clients,
        "clients may read a value of a type that they do not know",
        Check::Schema(|Pair { old, new }| {
            let [old, new] = [old, new].map(type_of);
            found(changed("the type", Some(old), Some(new)).filter(|_| includes(new, old)))
        }),
    ),
    Rule::new(
        "field-removed",
        Breaks::ObjectsAndClients,
        "its value is hidden from clients, and lost when the object is written",
        Check::Schema(|Pair { old, new }| {
            let kept = preserves(new) || !matches!(values(new), Values::None);
            let is_removed = |name: &&String| !kept && property(new, name).is_none();
            fields(old).filter(is_removed).map(|name| Finding::at(format!(".{name}"), "removed")).collect()
        }),
    ),
    Rule::new(
        "field-required",
        Breaks::ObjectsAndClients,
        "objects without it are refused, and clients do not send it",
        Check::Schema(|Pair { old, new }| {
            let has_default = |name: &str| property(new, name).is_some_and(|field| field.default.is_some());
            let added = required(new).filter(|name| !required(old).any(|other| other == *name));
            let added = added.filter(|name| !has_default(name));
            added
                .map(|name| Finding::at(format!(".{name}"), "required, was optional or did not exist"))
                .collect()
        }),
    ),
    Rule::new(
        "field-optional",
        Breaks::Nothing,
        "clients that rely on it may find objects without it",
        Check::Schema(|Pair { old, new }| {
            let optional = required(old).filter(|name| !required(new).any(|other| other == *name));
            let optional = optional.filter(|name| property(new, name).is_some());
            optional.map(|name| Finding::at(format!(".{name}"), "optional, was required")).collect()
        }),
    ),
    Rule::new(
        "unknown-field-typed",
        Breaks::Objects,
        "objects may have any value there, which is refused if it does not fit",
        Check::Schema(|Pair { old, new }| {
            if !preserves(old) && !matches!(values(old), Values::Any) {
                return Vec::new();
            }
            let added = fields(new).filter(|name| property(old, name).is_none());
            let mut found: Vec<_> = added
                .map(|name| Finding::at(format!(".{name}"), "has a schema, was preserved without one"))
                .collect();
            if let (Values::None | Values::Any, Values::Schema(_)) = (values(old), values(new)) {
                found.push(Finding::at("[*]", "has a schema, was preserved without one"));
            }
            found
        }),
    ),
    Rule::new(
        "preserve-unknown-fields-removed",
        Breaks::ObjectsAndClients,
        "fields that the schema lacks are dropped from then on",
        Check::Schema(|Pair { old, new }| {
            let is = preserves(old) && !preserves(new) && !matches!(values(new), Values::Any);
            found(is.then(|| "unknown fields are dropped, were preserved".to_owned()))
        }),
    ),
    Rule::new(
        "additional-properties-removed",
        Breaks::ObjectsAndClients,
        "entries of the map are dropped from then on",
        Check::Schema(|Pair { old, new }| {
            let is = !matches!(values(old), Values::None) && matches!(values(new), Values::None);
            found((is && !preserves(new)).then(|| "no longer a map of any keys".to_owned()))
        }),
    ),
    Rule::new(
        "nullable-removed",
        Breaks::ObjectsAndClients,
        "null is refused, or replaced by the default",
        Check::Schema(|Pair { old, new }| {
            found((is(old.nullable) && !is(new.nullable)).then(|| "not nullable, was nullable".to_owned()))
        }),
    ),
    Rule::new(
        "nullable-added",
        Breaks::Clients,
        "clients may read null, for which their types may have no value",
        Check::Schema(|Pair { old, new }| {
            found((!is(old.nullable) && is(new.nullable)).then(|| "nullable, was not".to_owned()))
        }),
    ),
    Rule::new(
        "enum-added",
        Breaks::ObjectsAndClients,
        "other values are refused",
        Check::Schema(|pair| match enums(pair) {
            (None, Some(new)) => found(Some(format!("one of {}, was any value", list(new)))),
            _ => Vec::new(),
        }),
    ),
    Rule::new(
        "enum-value-removed",
        Breaks::ObjectsAndClients,
        "the value is refused",
        Check::Schema(|pair| match enums(pair) {
            (Some(old), Some(new)) => found(missing(old, new).map(|values| format!("{values} removed"))),
            _ => Vec::new(),
        }),
    ),
    Rule::new(
        "enum-value-added",
        Breaks::Clients,
        "clients may read a value that they do not know",
        Check::Schema(|pair| match enums(pair) {
            (Some(old), Some(new)) => found(missing(new, old).map(|values| format!("{values} added"))),
            (Some(old), None) => found(Some(format!("any value, was one of {}", list(old)))),
            _ => Vec::new(),
        }),
    ),
    Rule::new(
        "default-added",
        Breaks::Clients,
        "objects that leave the field out get a value that their writers did not choose",
        Check::Schema(|Pair { old, new }| match (&old.default, &new.default) {
            (None, Some(new)) => found(Some(format!("the default is {}, was none", new.0))),
            _ => Vec::new(),
        }),
    ),
    Rule::new(
        "default-changed",
        Breaks::Clients,
        "objects that leave the field out get another value",
        Check::Schema(|Pair { old, new }| match (&old.default, &new.default) {
            (Some(old), Some(new)) if !is_same(&old.0, &new.0) => {
                found(Some(format!("the default is {}, was {}", new.0, old.0)))
            }
            _ => Vec::new(),
        }),
    ),
    Rule::new(
        "default-removed",
        Breaks::ObjectsAndClients,
        "objects that leave the field out have no value, and are refused if it is required",
        Check::Schema(|Pair { old, new }| match (&old.default, &new.default) {
            (Some(old), None) => found(Some(format!("no default, was {}", old.0))),
            _ => Vec::new(),
        }),
    ),
    Rule::new(
        "list-type-changed",
        Breaks::ObjectsAndClients,
        "server-side apply merges the list in another way, and duplicates in sets and maps are refused",
        Check::Schema(|pair| found(list_type(pair).filter(|_| !is_atomic(pair.new)))),
    ),
    Rule::new(
        "list-type-atomic",
        Breaks::Clients,
        "server-side apply replaces the whole list: items of other appliers are removed",
        Check::Schema(|pair| found(list_type(pair).filter(|_| is_atomic(pair.new)))),
    ),
    Rule::new(
        "list-map-keys-changed",
        Breaks::ObjectsAndClients,
        "items are told apart by other fields: they may be duplicates, or merged into one",
        Check::Schema(|pair| found(list_map_keys(pair, |old, new| !old.iter().all(|key| new.contains(key))))),
    ),
    Rule::new(
        "list-map-keys-added",
        Breaks::Clients,
        "server-side apply takes items for two that were one",
        Check::Schema(|pair| found(list_map_keys(pair, |old, new| old.iter().all(|key| new.contains(key))))),
    ),
    Rule::new(
        "map-type-changed",
        Breaks::Clients,
        "server-side apply merges the fields in another way",
        Check::Schema(|Pair { old, new }| {
            let [old, new] = [old, new].map(|schema| or(&schema.x_kubernetes_map_type, "granular"));
            found(changed("the map type", Some(old), Some(new)))
        }),
    ),
    Rule::new(
        "embedded-resource-added",
        Breaks::ObjectsAndClients,
        "values without apiVersion, kind and valid metadata are refused",
        Check::Schema(|Pair { old, new }| {
            let is = |schema: &JSONSchemaProps| is(schema.x_kubernetes_embedded_resource);
            found((!is(old) && is(new)).then(|| "an embedded object, was any value".to_owned()))
        }),
    ),
    Rule::new(
        "embedded-resource-removed",
        Breaks::ObjectsAndClients,
        "apiVersion, kind and metadata are fields like others: what the schema lacks of them is dropped from then on",
        Check::Schema(|Pair { old, new }| {
            let was = is(old.x_kubernetes_embedded_resource) && !is(new.x_kubernetes_embedded_resource);
            let dropped: Vec<_> = HEADER.into_iter().filter(|field| was && !keeps(new, field)).collect();
            let change = || format!("no embedded object any more, drops {}", dropped.join(", "));
            found((!dropped.is_empty()).then(change))
        }),
    ),
    Rule::new(
        "validation-rule-added",
        Breaks::ObjectsAndClients,
        "objects for which the rule is false are refused",
        Check::Schema(|Pair { old, new }| {
            // Messages and reasons refuse nothing. With `optionalOldSelf` a rule about changes is asked of new objects too.
            let rules = |schema: &JSONSchemaProps| {
                let rules = schema.x_kubernetes_validations.iter().flatten();
                rules
                    .map(|rule| (rule.rule.trim().to_owned(), is(rule.optional_old_self)))
                    .collect::<Vec<_>>()
            };
            let old = rules(old);
            let is_new = |(rule, optional): &(String, bool)| {
                !old.iter().any(|(other, of_old)| other == rule && (of_old == optional || *of_old))
            };
            let added = rules(new).into_iter().filter(is_new);
            added.map(|(rule, _)| Finding::here(format!("the rule `{rule}` was added"))).collect()
        }),
    ),
    Rule::new(
        "alternatives-changed",
        Breaks::ObjectsAndClients,
        "objects that match none of the new alternatives are refused",
        Check::Schema(|Pair { old, new }| {
            let lacks = |of: &Option<Vec<_>>, others: &Option<Vec<_>>| {
                of.iter().flatten().any(|it| !others.iter().flatten().any(|other| it == other))
            };
            let is_any = |of: &Option<Vec<_>>| of.as_ref().is_some_and(|of| !of.is_empty());
            let changed = [
                ("allOf", lacks(&new.all_of, &old.all_of)),
                ("anyOf", is_any(&new.any_of) && (lacks(&old.any_of, &new.any_of) || !is_any(&old.any_of))),
                (
                    "oneOf",
                    is_any(&new.one_of)
                        && (lacks(&old.one_of, &new.one_of) || lacks(&new.one_of, &old.one_of)),
                ),
                ("not", new.not.is_some() && old.not != new.not),
            ];
            let names = changed.into_iter().filter_map(|(name, is)| is.then_some(name));
            names.map(|name| Finding::here(format!("`{name}` was added or changed"))).collect()
        }),
    ),
];

/// What a schema says about the values of keys that it does not list.
#[derive(Clone, Copy, Debug)]
pub(super) enum Values<'a> {
    None,
    Any,
    Schema(&'a JSONSchemaProps),
}

pub(super) fn values(schema: &JSONSchemaProps) -> Values<'_> {
    match &schema.additional_properties {
        None | Some(JSONSchemaPropsOrBool::Bool(false)) => Values::None,
        Some(JSONSchemaPropsOrBool::Bool(true)) => Values::Any,
        Some(JSONSchemaPropsOrBool::Schema(schema)) => Values::Schema(schema),
    }
}

/// A finding at the place itself, if there is a change.
pub(super) fn found(change: Option<String>) -> Vec<Finding> {
    change.map(Finding::here).into_iter().collect()
}

/// `what` is the new value, if it is another one.
pub(super) fn changed(what: &str, old: Option<&str>, new: Option<&str>) -> Option<String> {
    let new = new.filter(|new| old != Some(new))?;
    Some(format!("{what} is {new}, was {}", old.unwrap_or("none")))
}

fn type_of(schema: &JSONSchemaProps) -> &str {
    if is(schema.x_kubernetes_int_or_string) {
        return "integer or string";
    }
    or(&schema.type_, "any")
}

fn or<'a>(text: &'a Option<String>, default: &'a str) -> &'a str {
    text.as_deref().filter(|text| !text.is_empty()).unwrap_or(default)
}

fn is(flag: Option<bool>) -> bool {
    flag == Some(true)
}

fn preserves(schema: &JSONSchemaProps) -> bool {
    is(schema.x_kubernetes_preserve_unknown_fields)
}

fn fields(schema: &JSONSchemaProps) -> impl Iterator<Item = &String> {
    schema.properties.iter().flatten().map(|(name, _)| name)
}

fn property<'a>(schema: &'a JSONSchemaProps, name: &str) -> Option<&'a JSONSchemaProps> {
    schema.properties.as_ref()?.get(name)
}

fn required(schema: &JSONSchemaProps) -> impl Iterator<Item = &str> {
    schema.required.iter().flatten().map(String::as_str)
}

/// Whether every value of the type `old` is one of `new`.
fn includes(new: &str, old: &str) -> bool {
    matches!((new, old), ("any", _) | ("number", "integer") | ("integer or string", "integer" | "string"))
}

/// The enums of both; an empty one refuses nothing.
fn enums<'a>(Pair { old, new }: Pair<'a, JSONSchemaProps>) -> (Option<&'a [JSON]>, Option<&'a [JSON]>) {
    let of = |schema: &'a JSONSchemaProps| schema.enum_.as_deref().filter(|values| !values.is_empty());
    (of(old), of(new))
}

fn list_type(Pair { old, new }: Pair<'_, JSONSchemaProps>) -> Option<String> {
    let [old, new] = [old, new].map(|schema| or(&schema.x_kubernetes_list_type, "atomic"));
    changed("the list type", Some(old), Some(new))
}

fn is_atomic(schema: &JSONSchemaProps) -> bool {
    or(&schema.x_kubernetes_list_type, "atomic") == "atomic"
}

/// What was changed, if the keys are others and `is` says so of the old and the new ones.
fn list_map_keys(
    Pair { old, new }: Pair<'_, JSONSchemaProps>,
    is: impl Fn(&[String], &[String]) -> bool,
) -> Option<String> {
    let old = old.x_kubernetes_list_map_keys.as_ref()?;
    let new = new.x_kubernetes_list_map_keys.as_ref()?;
    let is_same = old.len() == new.len() && old.iter().all(|key| new.contains(key));
    (!is_same && is(old, new)).then(|| format!("the keys are {}, were {}", new.join(", "), old.join(", ")))
}

const HEADER: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Whether an object keeps the field `name` of an object in it, with all that is below.
fn keeps(schema: &JSONSchemaProps, name: &str) -> bool {
    match property(schema, name) {
        Some(field) => name != "metadata" || preserves(field),
        None => preserves(schema) || matches!(values(schema), Values::Any),
    }
}

/// The values that `of` has and `others` has not.
fn missing(of: &[JSON], others: &[JSON]) -> Option<String> {
    let is_missing = |value: &&JSON| !others.iter().any(|other| is_same(&value.0, &other.0));
    let missing: Vec<_> = of.iter().filter(is_missing).cloned().collect();
    (!missing.is_empty()).then(|| list(&missing))
}

/// As servers compare: `1.0` is 1.
fn is_same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| is_same(a, b)))
        }
        _ => a == b,
    }
}

fn list(values: &[JSON]) -> String {
    values.iter().map(|value| value.0.to_string()).collect::<Vec<_>>().join(", ")
}
