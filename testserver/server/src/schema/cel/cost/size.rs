//! How large a value of a schema can be.

use kube_core::cel::escape_property;
use serde_json::Value;

/// The largest request in bytes.
pub(super) const MAX_REQUEST: u64 = 3 * 1024 * 1024;
/// A request without its outer brackets.
const MAX_BODY: u64 = MAX_REQUEST - 2;

/// Bounds of a size: characters of a text, elements of a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) min: u64,
    pub(super) max: u64,
}

impl Size {
    pub(super) const UNKNOWN: Self = Self { min: 0, max: u64::MAX };

    pub(super) const fn exact(size: u64) -> Self {
        Self { min: size, max: size }
    }

    pub(super) const fn up_to(max: u64) -> Self {
        Self { min: 0, max }
    }

    pub(super) fn plus(self, other: Self) -> Self {
        Self { min: self.min.saturating_add(other.min), max: self.max.saturating_add(other.max) }
    }

    /// The size of either.
    pub(super) fn or(self, other: Self) -> Self {
        Self { min: self.min.min(other.min), max: self.max.max(other.max) }
    }
}

/// The part of the rule's schema that an expression reads, and the number of steps to it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'d> {
    part: Part<'d>,
    length: usize,
}

#[derive(Clone, Copy, Debug)]
enum Part<'d> {
    Schema(&'d Value),
    /// A key of a map.
    Key,
    /// Not in the schema.
    Nowhere,
}

/// A step to a part of a value.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step<'s> {
    Member(&'s str),
    Items,
    Values,
    Keys,
    Indices,
}

impl<'d> Place<'d> {
    /// `self`, and what genuine servers take for it: the first step from a result that is no part of the schema.
    pub(super) fn root(doc: &'d Value) -> Self {
        Self { part: Part::Schema(doc), length: 1 }
    }

    pub(super) fn step(self, step: Step<'_>) -> Self {
        let part = match (self.part, step) {
            (Part::Schema(doc), Step::Member(name)) => member(doc, name),
            (Part::Schema(doc), Step::Items) => Some(&doc["items"]),
            (Part::Schema(doc), Step::Values) => Some(&doc["additionalProperties"]),
            (Part::Schema(doc), Step::Keys) if doc["additionalProperties"].is_object() => {
                return Self { part: Part::Key, length: self.length + 1 };
            }
            _ => None,
        };
        let part = part.filter(|doc| doc.is_object()).map_or(Part::Nowhere, Part::Schema);
        Self { part, length: self.length + 1 }
    }

    /// The places of both variables of a loop over this place. Genuine servers keep the steps to both in one growing array: where it has
    /// room, the second place overwrites the first.
    pub(super) fn pair(self, first: Step<'_>, second: Step<'_>) -> (Self, Self) {
        let (one, other) = (self.step(first), self.step(second));
        if self.length.is_power_of_two() { (one, other) } else { (other, other) }
    }

    /// The size of a value there; `None` if it is not known.
    pub(super) fn size(self) -> Option<Size> {
        match self.part {
            Part::Schema(doc) => Some(Size::up_to(largest(doc))),
            Part::Key => Some(Size::exact(0)),
            Part::Nowhere => None,
        }
    }
}

/// A property, by its name in rules.
fn member<'d>(doc: &'d Value, name: &str) -> Option<&'d Value> {
    let properties = doc["properties"].as_object()?;
    let called = |property: &str| escape_property(property).is_some_and(|escaped| escaped == name);
    properties.iter().find(|(property, _)| called(property)).map(|(_, doc)| doc)
}

fn largest(doc: &Value) -> u64 {
    match doc["type"].as_str() {
        Some("string") => largest_text(doc),
        Some("array") => doc["maxItems"].as_u64().unwrap_or(MAX_BODY / (smallest_json(&doc["items"]) + 1)),
        Some("object") if doc["additionalProperties"].is_object() => {
            let pair = smallest_json(&doc["additionalProperties"]) + 6;
            doc["maxProperties"].as_u64().unwrap_or(MAX_BODY / pair)
        }
        _ if doc["x-kubernetes-int-or-string"] == true => largest_text(doc),
        _ => 0,
    }
}

fn largest_text(doc: &Value) -> u64 {
    let named = doc["enum"].as_array().map(|all| all.iter().filter_map(Value::as_str).map(str::len).max());
    match (named, doc["format"].as_str(), doc["maxLength"].as_u64()) {
        (Some(longest), ..) => longest.unwrap_or(0) as u64,
        (None, Some("date"), _) => 12,
        (None, Some("date-time"), _) => 32,
        (None, Some("duration"), _) => 32,
        (None, Some("byte"), Some(most)) => most,
        // A character may take four bytes.
        (None, _, Some(most)) => most.saturating_mul(4),
        (None, _, None) => MAX_BODY,
    }
}

/// The smallest JSON size of a value of this schema.
pub(super) fn smallest_json(doc: &Value) -> u64 {
    let required = doc["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    match doc["type"].as_str() {
        Some("boolean") => 4,
        Some("string" | "array") => 2,
        Some("object") => {
            2 + required
                .map(|name| name.len() as u64 + 4 + smallest_json(&doc["properties"][name]))
                .sum::<u64>()
        }
        _ => 1,
    }
}
