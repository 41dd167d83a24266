//! HorizontalPodAutoscalers are stored as `v2`. In `v1`, annotations hold the fields that `v1` lacks, as on genuine servers.

use std::collections::HashMap;

use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::{Map, Value, json};

use crate::object::meta;

const METRICS: &str = "autoscaling.alpha.kubernetes.io/metrics";
const BEHAVIOR: &str = "autoscaling.alpha.kubernetes.io/behavior";
const CURRENT_METRICS: &str = "autoscaling.alpha.kubernetes.io/current-metrics";
const CONDITIONS: &str = "autoscaling.alpha.kubernetes.io/conditions";
/// All annotations of this conversion; `v2` objects have none of them.
pub(crate) const ANNOTATIONS: [&str; 4] = [METRICS, BEHAVIOR, CURRENT_METRICS, CONDITIONS];
/// Annotations for fields of `spec`.
pub(crate) const OF_SPEC: [&str; 2] = [METRICS, BEHAVIOR];
/// Annotations for fields of `status`.
pub(crate) const OF_STATUS: [&str; 2] = [CURRENT_METRICS, CONDITIONS];

/// A field of a metric in `v1` and in `v2`, where it is below the field that the metric's type names.
struct Member {
    part: Part,
    source: &'static str,
    v1: &'static str,
    v2: &'static str,
    /// What `v1`, which cannot omit the field, has without it.
    default: Option<&'static str>,
}

/// The part of an autoscaler that has metrics.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Spec,
    Status,
}

const fn spec(source: &'static str, v1: &'static str, v2: &'static str) -> Member {
    Member { part: Part::Spec, source, v1, v2, default: None }
}

const fn status(source: &'static str, v1: &'static str, v2: &'static str) -> Member {
    Member { part: Part::Status, source, v1, v2, default: None }
}

const fn always(member: Member) -> Member {
    Member { default: Some("0"), ..member }
}

/// Metrics of containers have the fields of resources.
static MEMBERS: &[Member] = &[
    spec("object", "target", "/describedObject"),
    spec("object", "metricName", "/metric/name"),
    spec("object", "selector", "/metric/selector"),
    always(spec("object", "targetValue", "/target/value")),
    spec("object", "averageValue", "/target/averageValue"),
    status("object", "target", "/describedObject"),
    status("object", "metricName", "/metric/name"),
    status("object", "selector", "/metric/selector"),
    always(status("object", "currentValue", "/current/value")),
    status("object", "averageValue", "/current/averageValue"),
    spec("pods", "metricName", "/metric/name"),
    spec("pods", "selector", "/metric/selector"),
    always(spec("pods", "targetAverageValue", "/target/averageValue")),
    status("pods", "metricName", "/metric/name"),
    status("pods", "selector", "/metric/selector"),
    always(status("pods", "currentAverageValue", "/current/averageValue")),
    spec("external", "metricName", "/metric/name"),
    spec("external", "metricSelector", "/metric/selector"),
    spec("external", "targetValue", "/target/value"),
    spec("external", "targetAverageValue", "/target/averageValue"),
    status("external", "metricName", "/metric/name"),
    status("external", "metricSelector", "/metric/selector"),
    always(status("external", "currentValue", "/current/value")),
    status("external", "currentAverageValue", "/current/averageValue"),
    spec("resource", "name", "/name"),
    spec("resource", "container", "/container"),
    spec("resource", "targetAverageUtilization", "/target/averageUtilization"),
    spec("resource", "targetAverageValue", "/target/averageValue"),
    status("resource", "name", "/name"),
    status("resource", "container", "/container"),
    status("resource", "currentAverageUtilization", "/current/averageUtilization"),
    always(status("resource", "currentAverageValue", "/current/averageValue")),
];

/// Whether a `v1` object has metrics in an annotation.
pub(crate) fn has_metrics(object: &Value) -> bool {
    let text = object["metadata"]["annotations"][METRICS].as_str().unwrap_or_default();
    matches!(serde_json::from_str(text), Ok(Value::Array(metrics)) if !metrics.is_empty())
}

pub(super) fn convert_from_storage(object: &mut Value) {
    let mut spec = take(object, "spec");
    let mut status = take(object, "status");
    let is_plain = |metric: &Value| is_cpu(metric) && utilization(metric, "target").is_some();
    let (plain, others): (Vec<_>, Vec<_>) = take_list(&mut spec, "metrics").into_iter().partition(is_plain);
    if let Some(metric) = plain.first() {
        spec.insert("targetCPUUtilizationPercentage".into(), utilization(metric, "target").into());
    }
    let current_metrics = take_list(&mut status, "currentMetrics");
    if let Some(value) = current_metrics.iter().find(|m| is_cpu(m)).and_then(|m| utilization(m, "current")) {
        status.insert("currentCPUUtilizationPercentage".into(), value.into());
    }
    let in_v1 = |metrics: &[Value], part| metrics.iter().map(|m| metric_of_v1(m, part)).collect::<Vec<_>>();
    annotate(object, METRICS, in_v1(&others, Part::Spec));
    annotate(object, CURRENT_METRICS, in_v1(&current_metrics, Part::Status));
    annotate(object, CONDITIONS, conditions(take_list(&mut status, "conditions")));
    annotate(object, BEHAVIOR, spec.remove("behavior").map(|b| capitalized(&b)).into_iter().collect());
    put_back(object, spec, status);
}

pub(super) fn convert_to_storage(object: &mut Value) {
    let mut spec = take(object, "spec");
    let mut status = take(object, "status");
    let mut annotations = take_annotations(object);
    let mut list = |name| match annotations.remove(name) {
        Some(Value::Array(items)) => items,
        _ => Vec::new(),
    };
    let in_v2 = |metrics: Vec<Value>, part| metrics.iter().map(|m| metric_of_v2(m, part)).collect::<Vec<_>>();
    let mut metrics = in_v2(list(METRICS), Part::Spec);
    if let Some(percent) = spec.remove("targetCPUUtilizationPercentage").filter(|v| !v.is_null()) {
        let target = json!({"type": "Utilization", "averageUtilization": percent});
        metrics.push(json!({"type": "Resource", "resource": {"name": "cpu", "target": target}}));
    }
    insert_list(&mut spec, "metrics", metrics);
    let mut current_metrics = in_v2(list(CURRENT_METRICS), Part::Status);
    let percent = status.remove("currentCPUUtilizationPercentage").filter(|v| !v.is_null());
    if let Some(percent) = percent.filter(|_| !current_metrics.iter().any(is_cpu)) {
        let current = json!({"averageUtilization": percent, "averageValue": "0"});
        current_metrics.push(json!({"type": "Resource", "resource": {"name": "cpu", "current": current}}));
    }
    insert_list(&mut status, "currentMetrics", current_metrics);
    insert_list(&mut status, "conditions", list(CONDITIONS));
    if let Some(behavior) = annotations.remove(BEHAVIOR).filter(Value::is_object) {
        spec.insert("behavior".into(), uncapitalized(&behavior));
    }
    put_back(object, spec, status);
}

fn take(object: &mut Value, member: &str) -> Map<String, Value> {
    match object.get_mut(member).map(Value::take) {
        Some(Value::Object(members)) => members,
        _ => Map::new(),
    }
}

fn put_back(object: &mut Value, spec: Map<String, Value>, status: Map<String, Value>) {
    for (name, members) in [("spec", spec), ("status", status)] {
        if !members.is_empty() || object.get(name).is_some() {
            object[name] = members.into();
        }
    }
}

fn take_list(members: &mut Map<String, Value>, name: &str) -> Vec<Value> {
    match members.remove(name) {
        Some(Value::Array(items)) => items,
        _ => Vec::new(),
    }
}

fn insert_list(members: &mut Map<String, Value>, name: &str, items: Vec<Value>) {
    if !items.is_empty() {
        members.insert(name.into(), items.into());
    }
}

/// Removes the annotations and returns their parsed values; invalid ones are dropped.
fn take_annotations(object: &mut Value) -> HashMap<&'static str, Value> {
    let Some(Value::Object(annotations)) = object.pointer_mut("/metadata/annotations") else {
        return HashMap::new();
    };
    let read = ANNOTATIONS.iter().filter_map(|name| {
        let text = annotations.remove(*name)?;
        Some((*name, serde_json::from_str(text.as_str()?).ok()?))
    });
    let read = read.collect();
    if annotations.is_empty() {
        meta::set(object, "annotations", Value::Null);
    }
    read
}

/// Writes an annotation: a list, or the single object of `BEHAVIOR`; nothing if `values` is empty.
fn annotate(object: &mut Value, name: &str, mut values: Vec<Value>) {
    let value = match values.as_slice() {
        [] => return,
        [_] if name == BEHAVIOR => values.remove(0),
        _ => values.into(),
    };
    let text = serde_json::to_string(&InOrder(&value)).expect("invariant: JSON can be written as JSON");
    let Some(metadata) = meta::map_mut(object) else { return };
    let annotations = metadata.entry("annotations").or_insert_with(|| json!({}));
    if let Some(annotations) = annotations.as_object_mut() {
        annotations.insert(name.into(), text.into());
    }
}

fn is_cpu(metric: &Value) -> bool {
    metric["type"] == "Resource" && metric["resource"]["name"] == "cpu"
}

fn utilization(metric: &Value, of: &str) -> Option<i64> {
    metric["resource"][of]["averageUtilization"].as_i64()
}

fn members_of(source: &str, part: Part) -> impl Iterator<Item = &'static Member> {
    let source = if source == "containerResource" { "resource" } else { source };
    MEMBERS.iter().filter(move |member| member.part == part && member.source == source)
}

/// Converts the field of a metric that its type names.
fn changed(metric: &Value, change: impl Fn(&str, &Value) -> Value) -> Value {
    let Value::Object(members) = metric else { return metric.clone() };
    let of = |(name, value): (&String, &Value)| match value {
        Value::Object(_) => (name.clone(), change(name, value)),
        other => (name.clone(), other.clone()),
    };
    members.iter().map(of).collect()
}

fn metric_of_v1(metric: &Value, part: Part) -> Value {
    changed(metric, |source, value| {
        let of = |member: &Member| {
            let given = value.pointer(member.v2).cloned();
            Some((member.v1.to_owned(), given.or_else(|| member.default.map(Value::from))?))
        };
        members_of(source, part).filter_map(of).collect()
    })
}

fn metric_of_v2(metric: &Value, part: Part) -> Value {
    changed(metric, |source, value| {
        let mut out = json!({});
        for member in members_of(source, part) {
            if let Some(member_value) = value.get(member.v1).filter(|member_value| !member_value.is_null()) {
                let (parent, last) = member.v2.rsplit_once('/').unwrap_or_default();
                match parent.strip_prefix('/') {
                    Some(parent) => out[parent][last] = member_value.clone(),
                    None => out[last] = member_value.clone(),
                }
            }
        }
        if part == Part::Spec {
            out["target"]["type"] = kind_of_target(source, &out["target"]).into();
        }
        out
    })
}

fn kind_of_target(source: &str, target: &Value) -> &'static str {
    let has = |name: &str| target.get(name).is_some();
    match source {
        "object" if !has("averageValue") => "Value",
        "external" if has("value") => "Value",
        _ if has("averageUtilization") => "Utilization",
        _ => "AverageValue",
    }
}

/// `v1` always has `lastTransitionTime`.
fn conditions(mut conditions: Vec<Value>) -> Vec<Value> {
    for condition in conditions.iter_mut().filter_map(Value::as_object_mut) {
        condition.entry("lastTransitionTime").or_insert(Value::Null);
    }
    conditions
}

/// Genuine servers write unset fields of a direction as null.
fn capitalized(behavior: &Value) -> Value {
    let Value::Object(directions) = behavior else { return behavior.clone() };
    let of = |(direction, rules): (&String, &Value)| {
        let mut out = with_names(rules, capital);
        for name in ["StabilizationWindowSeconds", "SelectPolicy", "Policies", "Tolerance"] {
            if out.is_object() && out.get(name).is_none() {
                out[name] = Value::Null;
            }
        }
        (capital(direction), out)
    };
    directions.iter().map(of).collect()
}

fn uncapitalized(behavior: &Value) -> Value {
    let lower = |name: &str| {
        let mut letters = name.chars();
        letters.next().map(|first| first.to_ascii_lowercase()).into_iter().chain(letters).collect()
    };
    with_names(behavior, lower)
}

fn capital(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect()
}

/// Renames all members and drops nulls.
fn with_names(value: &Value, rename: impl Fn(&str) -> String + Copy) -> Value {
    match value {
        Value::Object(members) => {
            let there = members.iter().filter(|(_, value)| !value.is_null());
            there.map(|(name, value)| (rename(name), with_names(value, rename))).collect()
        }
        Value::Array(items) => items.iter().map(|item| with_names(item, rename)).collect(),
        other => other.clone(),
    }
}

/// Serialises members in the order of genuine servers' annotations; free names in alphabetical order.
struct InOrder<'v>(&'v Value);

const ORDER: &str = "type object pods resource containerResource external kind target metricName name apiVersion \
    metricSelector targetValue currentValue targetAverageUtilization currentAverageUtilization \
    targetAverageValue currentAverageValue selector averageValue container matchLabels matchExpressions \
    status lastTransitionTime reason message ScaleUp ScaleDown StabilizationWindowSeconds SelectPolicy \
    Policies Tolerance Type Value PeriodSeconds key";

impl Serialize for InOrder<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Array(items) => serializer.collect_seq(items.iter().map(InOrder)),
            Value::Object(members) => {
                let mut members: Vec<_> = members.iter().collect();
                let rank =
                    |name: &str| ORDER.split(' ').position(|member| member == name).unwrap_or(usize::MAX);
                members.sort_by_key(|(name, _)| rank(name));
                let mut map = serializer.serialize_map(Some(members.len()))?;
                for (name, value) in members {
                    match name.as_str() {
                        "matchLabels" => map.serialize_entry(name, value)?,
                        _ => map.serialize_entry(name, &InOrder(value))?,
                    }
                }
                map.end()
            }
            other => other.serialize(serializer),
        }
    }
}

#[cfg(test)]
#[path = "autoscaler_tests.rs"]
mod tests;
