//! Reads the fields of an object of any kind.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube_core::DynamicObject;
use serde_json::Value;

/// An object and its kind, with short ways to the fields that rules read. What is missing or of another type is `None` or 0, as an
/// absent field is for the servers.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    pub(super) group: &'a str,
    pub(super) kind: &'a str,
    pub(super) meta: &'a ObjectMeta,
    data: &'a Value,
}

impl<'a> View<'a> {
    pub(super) fn new(object: &'a DynamicObject) -> Self {
        let types = object.types.as_ref();
        let api_version = types.map_or("", |types| types.api_version.as_str());
        Self {
            group: api_version.split_once('/').map_or("", |(group, _)| group),
            kind: types.map_or("", |types| types.kind.as_str()),
            meta: &object.metadata,
            data: &object.data,
        }
    }

    pub(super) fn name(&self) -> &'a str {
        self.meta.name.as_deref().unwrap_or_default()
    }

    /// The value at a JSON pointer.
    pub(super) fn get(&self, pointer: &str) -> Option<&'a Value> {
        self.data.pointer(pointer).filter(|value| !value.is_null())
    }

    pub(super) fn text(&self, pointer: &str) -> Option<&'a str> {
        self.get(pointer)?.as_str()
    }

    pub(super) fn number(&self, pointer: &str) -> Option<i64> {
        self.get(pointer)?.as_i64()
    }

    /// The number in `status`, 0 if it is missing.
    pub(super) fn count(&self, field: &str) -> i64 {
        self.get("/status").and_then(|status| status.get(field)).and_then(Value::as_i64).unwrap_or(0)
    }

    pub(super) fn items(&self, pointer: &str) -> &'a [Value] {
        self.get(pointer).and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    /// The condition of this type in `status.conditions`.
    pub(super) fn condition(&self, type_: &str) -> Option<Condition<'a>> {
        let generation = self.meta.generation;
        let conditions = self.items("/status/conditions").iter();
        let mut conditions = conditions.map(|json| Condition { json, generation });
        conditions.find(|condition| condition.text("type") == type_)
    }

    /// Whether the controller of the object has seen its current generation. Objects without `observedGeneration` do not tell.
    pub(super) fn is_observed(&self) -> bool {
        match (self.number("/status/observedGeneration"), self.meta.generation) {
            (Some(observed), Some(generation)) => observed >= generation,
            _ => true,
        }
    }
}

/// An entry of `status.conditions`.
#[derive(Clone, Copy)]
pub(super) struct Condition<'a> {
    json: &'a Value,
    /// The generation of the object.
    generation: Option<i64>,
}

impl<'a> Condition<'a> {
    pub(super) fn text(&self, field: &str) -> &'a str {
        self.json.get(field).and_then(Value::as_str).unwrap_or_default()
    }

    /// Whether it has this status for the current generation of the object.
    pub(super) fn is(&self, status: &str) -> bool {
        self.is_current() && self.text("status").eq_ignore_ascii_case(status)
    }

    /// Whether it is about the generation of the object. Conditions without `observedGeneration` do not tell.
    fn is_current(&self) -> bool {
        match (self.json.get("observedGeneration").and_then(Value::as_i64), self.generation) {
            (Some(observed), Some(generation)) => observed >= generation,
            _ => true,
        }
    }

    /// Reason and message, as far as there are any; of an older generation only that.
    pub(super) fn explanation(&self) -> String {
        if !self.is_current() {
            return format!("condition {} is of an older generation", self.text("type"));
        }
        match (self.text("reason"), self.text("message")) {
            ("", "") => format!("condition {} is {}", self.text("type"), self.text("status")),
            ("", message) => message.to_owned(),
            (reason, "") => reason.to_owned(),
            (reason, message) => format!("{reason}: {message}"),
        }
    }
}
