//! One rule of a field, and the errors of a value.

use serde_json::Value;

use super::formats;
use crate::{gotypes::GoType, object::quantity::Quantity, schema::FieldError};

/// A rule for a field of a struct.
pub(super) struct Check {
    pub(super) field: &'static str,
    /// Whether it is for the elements of a list or a map, or for the keys of a map.
    target: Target,
    rule: Rule,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    Value,
    Elements,
    /// The elements, but the error is that of the whole list.
    Unplaced,
    Keys,
    /// A member of the value.
    Member(&'static str),
}

enum Rule {
    Required,
    /// A pointer that is set; whether its value may be empty is for other rules. `true`: without it the other fields are not judged.
    Given(bool),
    /// A pointer that may be missing, but not point to nothing; the detail of the message.
    Filled(&'static str),
    /// The field is not judged here.
    Unchecked,
    /// The detail of the message.
    Forbidden(&'static str),
    Enum(Vec<&'static str>, Zero),
    Min(i64),
    Max(i64),
    Range(i64, i64, Zero),
    /// Positive numbers only.
    Above(Zero),
    Format(&'static str, Zero),
    MaxItems(usize),
    MaxLength(usize),
    MaxBytes(usize),
    /// Elements are unique.
    Unique,
    /// Elements are unique by these members; the error is at the element, or at its last member.
    Keys(Vec<&'static str>, bool),
    /// Exactly one of these members: others than the first are forbidden, none is a missing value.
    Handler(Vec<&'static str>),
    /// Of these members only the first is judged.
    Only(Vec<&'static str>),
    /// One of these members, but any number but one is an invalid value of the whole.
    Union(Vec<&'static str>),
    Immutable,
}

/// Whether a zero value that is not behind a pointer is judged too, rather than taken for a missing one. The names of such rules end with `!`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Zero {
    Missing,
    Judged,
}

impl Check {
    pub(super) fn parse(field: &'static str, text: &'static str) -> Option<Self> {
        let (name, rest) = text.split_once(' ').unwrap_or((text, ""));
        let (target, name, rest) = match name {
            "each" | "list" | "key" => {
                let (inner, rest) = rest.split_once(' ').unwrap_or((rest, ""));
                let target = match name {
                    "each" => Target::Elements,
                    "list" => Target::Unplaced,
                    _ => Target::Keys,
                };
                (target, inner, rest)
            }
            "member" => {
                let (member, rest) = rest.split_once(' ')?;
                let (name, rest) = rest.split_once(' ').unwrap_or((rest, ""));
                (Target::Member(member), name, rest)
            }
            _ => (Target::Value, name, rest),
        };
        let list = || rest.split('|').collect();
        let (name, zero) = match name.strip_suffix('!') {
            Some(name) => (name, Zero::Judged),
            None => (name, Zero::Missing),
        };
        let rule = match name {
            "required" => Rule::Required,
            "given" => Rule::Given(false),
            "first" => Rule::Given(true),
            "filled" => Rule::Filled(rest),
            "unchecked" => Rule::Unchecked,
            "forbidden" => Rule::Forbidden(rest),
            "enum" => Rule::Enum(list(), zero),
            "min" => Rule::Min(rest.parse().ok()?),
            "max" => Rule::Max(rest.parse().ok()?),
            "range" => {
                let (min, max) = rest.split_once(' ')?;
                Rule::Range(min.parse().ok()?, max.parse().ok()?, zero)
            }
            "above" => Rule::Above(zero),
            "format" => Rule::Format(formats::known(rest)?, zero),
            "maxItems" => Rule::MaxItems(rest.parse().ok()?),
            "maxLength" => Rule::MaxLength(rest.parse().ok()?),
            "maxBytes" => Rule::MaxBytes(rest.parse().ok()?),
            "unique" => Rule::Unique,
            "keys" => Rule::Keys(list(), false),
            "named" => Rule::Keys(list(), true),
            "handler" => Rule::Handler(list()),
            "only" => Rule::Only(list()),
            "union" => Rule::Union(list()),
            "immutable" => Rule::Immutable,
            _ => return None,
        };
        Some(Self { field, target, rule })
    }

    /// The fields of the struct that the rule names.
    #[cfg(test)]
    pub(super) fn members(&self) -> Vec<&'static str> {
        match &self.rule {
            Rule::Handler(members) | Rule::Only(members) | Rule::Union(members) => {
                members.iter().map(|member| plain(member).0).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The members of a value that are not looked at, because there is one before them.
    pub(super) fn skipped(&self, owner: &Value) -> Vec<&'static str> {
        match &self.rule {
            Rule::Handler(members) | Rule::Only(members) => {
                others(owner, members).map(|member| plain(member).0).collect()
            }
            Rule::Unchecked => vec![self.field],
            _ => Vec::new(),
        }
    }

    /// Whether the other fields are not judged, because this one is missing.
    pub(super) fn stops(&self, owner: &Value) -> bool {
        matches!(self.rule, Rule::Given(true)) && owner[self.field].is_null()
    }

    /// The errors of a field of a struct, or of the struct itself. Values that did not change are not judged.
    pub(super) fn judge(
        &self,
        owner: &Value,
        old: Option<&Value>,
        ty: Option<&GoType>,
        at: &str,
        errors: &mut Vec<FieldError>,
    ) {
        let path = match (self.field, at) {
            (".", _) => at.to_owned(),
            (field, "") => field.to_owned(),
            (field, at) => format!("{at}.{field}"),
        };
        let value = if self.field == "." { owner } else { &owner[self.field] };
        let before = old.map(|old| if self.field == "." { old } else { &old[self.field] });
        if before == Some(value) {
            return;
        }
        let pointer = matches!(ty, Some(GoType::Pointer(_)));
        match self.target {
            Target::Value => self.value(value, before, pointer, &path, errors),
            Target::Member(member) => {
                if !value.is_null() {
                    self.value(&value[member], None, false, &format!("{path}.{member}"), errors);
                }
            }
            Target::Elements | Target::Unplaced => {
                let list = value.as_array().into_iter().flatten().enumerate();
                let list = list.map(|(i, value)| (format!("{path}[{i}]"), value));
                let map = value.as_object().into_iter().flatten().map(|(_, value)| (path.clone(), value));
                for (place, value) in list.chain(map) {
                    let place = if self.target == Target::Unplaced { &path } else { &place };
                    self.value(value, None, true, place, errors);
                }
            }
            Target::Keys => {
                for key in value.as_object().into_iter().flatten().map(|(key, _)| key) {
                    self.value(&Value::from(key.as_str()), None, true, &path, errors);
                }
            }
        }
    }

    /// `set`: whether an empty value is one, as it is behind a pointer and in a list.
    fn value(&self, value: &Value, old: Option<&Value>, set: bool, at: &str, errors: &mut Vec<FieldError>) {
        let zero = is_zero(value);
        let judged = matches!(
            self.rule,
            Rule::Enum(_, Zero::Judged)
                | Rule::Range(_, _, Zero::Judged)
                | Rule::Above(Zero::Judged)
                | Rule::Format(_, Zero::Judged)
        );
        let absent = value.is_null() || zero && !set;
        let missing = Value::from("");
        // What is not there is an empty text.
        let value = if judged && value.is_null() { &missing } else { value };
        match &self.rule {
            Rule::Required
                if absent
                    || zero && (value.is_string() || value.is_array() || self.target == Target::Elements) =>
            {
                errors.push(FieldError::required(at, ""));
            }
            Rule::Given(_) if value.is_null() => errors.push(FieldError::required(at, "")),
            Rule::Filled(why) if value == "" => errors.push(FieldError::required(at, why)),
            Rule::Forbidden(why) if !absent => errors.push(FieldError::forbidden(at, why)),
            Rule::Immutable => {
                if old.is_some_and(|old| old != value) {
                    // Genuine servers do not print the value.
                    errors.push(FieldError::invalid(at, Value::Null, "field is immutable"));
                }
            }
            Rule::Handler(members) => handler(value, members, at, errors),
            Rule::Union(members) => union(value, members, at, errors),
            _ if absent && !judged => {}
            Rule::Enum(values, _) => {
                if value.as_str().is_some_and(|text| !values.contains(&text)) {
                    let values: Vec<String> = values.iter().map(|value| format!("{value:?}")).collect();
                    errors.push(FieldError::not_supported(at, value, &values));
                }
            }
            Rule::Min(min) => {
                if number(value).is_some_and(|number| number < *min) {
                    let why = format!("must be greater than or equal to {min}");
                    errors.push(FieldError::invalid(at, value, &why));
                }
            }
            Rule::Max(max) => {
                if number(value).is_some_and(|number| number > *max) {
                    let why = format!("must be less than or equal to {max}");
                    errors.push(FieldError::invalid(at, value, &why));
                }
            }
            Rule::Range(min, max, _) => {
                if number(value).is_some_and(|number| !(*min..=*max).contains(&number)) {
                    let why = format!("must be between {min} and {max}, inclusive");
                    errors.push(FieldError::invalid(at, value, &why));
                }
            }
            Rule::Above(_) => {
                if value == "" || number(value).is_some_and(|number| number <= 0) {
                    errors.push(FieldError::invalid(at, value, "must be greater than 0"));
                }
            }
            Rule::Format(format, _) => {
                if let Some(why) = value.as_str().and_then(|text| formats::problem(format, text)) {
                    errors.push(FieldError::invalid(at, value, &why));
                }
            }
            Rule::MaxItems(max) => {
                let count =
                    value.as_array().map(Vec::len).or_else(|| value.as_object().map(serde_json::Map::len));
                if let Some(count) = count.filter(|count| count > max) {
                    let why = format!("Too many: {count}: must have at most {max} items");
                    errors.push(FieldError::new(at, "FieldValueTooMany", why));
                }
            }
            Rule::MaxLength(max) | Rule::MaxBytes(max) => {
                if value.as_str().is_some_and(|text| text.len() > *max) {
                    let why = format!("Too long: may not be more than {max} bytes");
                    errors.push(FieldError::new(at, "FieldValueTooLong", why));
                }
            }
            Rule::Unique => unique(value, at, errors, |value| Some(value.clone()), None),
            Rule::Keys(keys, named) => {
                let key = |value: &Value| {
                    let set = !named || keys.last().is_some_and(|last| !is_zero(&value[last]));
                    set.then(|| keys.iter().map(|key| value[key].clone()).collect())
                };
                unique(value, at, errors, key, keys.last().filter(|_| *named).copied());
            }
            Rule::Required | Rule::Given(_) | Rule::Filled(_) | Rule::Forbidden(_) => {}
            Rule::Only(_) | Rule::Unchecked => {}
        }
    }
}

/// A number; of quantities only the sign matters.
fn number(value: &Value) -> Option<i64> {
    let sign = |amount: Quantity| i64::from(!amount.is_zero()) * if amount.is_negative() { -1 } else { 1 };
    value.as_i64().or_else(|| value.as_str().and_then(Quantity::parse).map(sign))
}

/// Elements without a key are not compared.
fn unique(
    value: &Value,
    at: &str,
    errors: &mut Vec<FieldError>,
    key: impl Fn(&Value) -> Option<Value>,
    member: Option<&str>,
) {
    let mut known = Vec::new();
    for (i, value) in value.as_array().into_iter().flatten().enumerate() {
        let Some(key) = key(value) else { continue };
        if known.contains(&key) {
            let member = member.map(|member| format!(".{member}")).unwrap_or_default();
            errors.push(FieldError::duplicate(format!("{at}[{i}]{member}"), value));
        } else {
            known.push(key);
        }
    }
}

fn given<'m>(value: &Value, members: &[&'m str]) -> Vec<&'m str> {
    members.iter().copied().filter(|member| !value[plain(member).0].is_null()).collect()
}

/// Some members have another name in errors, as `downwardAPI=downwarAPI`. With `+` a member counts, but is never one too many.
fn plain(member: &str) -> (&str, &str) {
    let member = member.strip_prefix('+').unwrap_or(member);
    member.split_once('=').unwrap_or((member, member))
}

/// The members that are there besides the first.
fn others<'m>(value: &Value, members: &[&'m str]) -> impl Iterator<Item = &'m str> + use<'m> {
    given(value, members).into_iter().skip(1).filter(|member| !member.starts_with('+'))
}

fn handler(value: &Value, members: &[&str], at: &str, errors: &mut Vec<FieldError>) {
    if value.is_null() {
        return;
    }
    if given(value, members).is_empty() {
        errors.push(FieldError::required(at, &format!("must specify one of: {}", members.join(", "))));
    }
    for member in others(value, members) {
        let place = format!("{at}.{}", plain(member).1);
        errors.push(FieldError::forbidden(place, "may not specify more than 1 of them"));
    }
}

fn union(value: &Value, members: &[&str], at: &str, errors: &mut Vec<FieldError>) {
    let given = given(value, members);
    if value.is_null() || given.len() == 1 {
        return;
    }
    let (shown, members) = (given.join(", "), members.join("`, `"));
    let why = format!("must specify exactly one of: `{members}`");
    errors.push(FieldError::invalid(at, if shown.is_empty() { "\"\"".to_owned() } else { shown }, &why));
}

/// Whether a value is what its Go variable holds at first.
fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(set) => !set,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.values().all(is_zero),
    }
}
