//! One rule of a field, and the errors of a value.

use serde_json::Value;

use super::formats::{self, Format};
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
    /// The detail of the message, which may be empty.
    Required(&'static str),
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
    /// The last is the message, where genuine servers have an own one.
    Range(i64, i64, Zero, &'static str),
    /// Positive numbers only. The text is how the message calls zero.
    Above(Zero, &'static str),
    Format(Format, Zero),
    MaxItems(usize),
    MaxLength(usize),
    /// Elements are unique.
    Unique,
    /// Elements are unique by these members; the error is at the element, or at its last member.
    Keys(Vec<&'static str>, bool),
    /// Exactly one of these members, which are types of something: others than the first are forbidden, none is a missing value.
    Handler(&'static str, Vec<&'static str>),
    /// Of these members only the first is judged.
    Only(Vec<&'static str>),
    /// One of these members, but any number but one is an invalid value of the whole.
    Union(Vec<&'static str>),
    Immutable,
    /// May be set and removed, but not changed.
    Kept,
    /// What the field holds is judged in new objects only.
    Created,
    /// What the field holds is judged only with this value of another member.
    With(&'static str, &'static str),
}

/// Which zero values are judged rather than taken for missing ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Zero {
    /// Those behind a pointer.
    Missing,
    /// All. The names of such rules end with `!`.
    Judged,
    /// None. The names of such rules end with `?`.
    Unfilled,
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
        let (name, zero) = match (name.strip_suffix('!'), name.strip_suffix('?')) {
            (Some(name), _) => (name, Zero::Judged),
            (_, Some(name)) => (name, Zero::Unfilled),
            _ => (name, Zero::Missing),
        };
        let rule = match name {
            "required" => Rule::Required(rest),
            "fileMode" => Rule::Range(0, 0o777, Zero::Missing, formats::FILE_MODE),
            "given" => Rule::Given(false),
            "first" => Rule::Given(true),
            "filled" => Rule::Filled(rest),
            "unchecked" => Rule::Unchecked,
            "forbidden" => Rule::Forbidden(rest),
            "enum" => Rule::Enum(list(), zero),
            "min" => Rule::Min(rest.parse().ok()?),
            "max" => Rule::Max(rest.parse().ok()?),
            "range" => {
                let (min, rest) = rest.split_once(' ')?;
                let (max, why) = rest.split_once(' ').unwrap_or((rest, ""));
                Rule::Range(min.parse().ok()?, max.parse().ok()?, zero, why)
            }
            "above" => Rule::Above(zero, if rest.is_empty() { "0" } else { rest }),
            "format" => Rule::Format(Format::named(rest)?, zero),
            "maxItems" => Rule::MaxItems(rest.parse().ok()?),
            "maxLength" | "maxBytes" => Rule::MaxLength(rest.parse().ok()?),
            "unique" => Rule::Unique,
            "keys" => Rule::Keys(list(), false),
            "named" => Rule::Keys(list(), true),
            "handler" => {
                let (what, members) = rest.split_once(' ')?;
                Rule::Handler(what, members.split('|').collect())
            }
            "only" => Rule::Only(list()),
            "union" => Rule::Union(list()),
            "immutable" => Rule::Immutable,
            "kept" => Rule::Kept,
            "created" => Rule::Created,
            "with" => {
                let (member, value) = rest.split_once(' ')?;
                Rule::With(member, value)
            }
            _ => return None,
        };
        Some(Self { field, target, rule })
    }

    /// The fields of the struct that the rule names.
    #[cfg(test)]
    pub(super) fn members(&self) -> Vec<&'static str> {
        match &self.rule {
            Rule::Handler(_, members) | Rule::Only(members) | Rule::Union(members) => {
                members.iter().map(|member| plain(member).0).collect()
            }
            Rule::With(member, _) => vec![member],
            _ => Vec::new(),
        }
    }

    /// The members of a value that are not looked at, for one because there is another one before them.
    pub(super) fn skipped(&self, owner: &Value, created: bool) -> Vec<&'static str> {
        match &self.rule {
            Rule::Handler(_, members) | Rule::Only(members) => {
                others(owner, members).map(|member| plain(member).0).collect()
            }
            Rule::Unchecked => vec![self.field],
            Rule::Created if !created => vec![self.field],
            Rule::With(member, value) if owner[member] != **value => vec![self.field],
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
                | Rule::Range(_, _, Zero::Judged, _)
                | Rule::Above(Zero::Judged, _)
                | Rule::Format(_, Zero::Judged)
        );
        let unfilled = matches!(self.rule, Rule::Enum(_, Zero::Unfilled) | Rule::Format(_, Zero::Unfilled));
        let absent = value.is_null() || zero && (!set || unfilled);
        let missing = Value::from("");
        // What is not there is an empty text.
        let value = if judged && value.is_null() { &missing } else { value };
        match &self.rule {
            Rule::Required(why)
                if absent
                    || zero && (value.is_string() || value.is_array() || self.target == Target::Elements) =>
            {
                errors.push(FieldError::required(at, why));
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
            Rule::Kept => {
                if !value.is_null() && old.is_some_and(|old| !old.is_null() && old != value) {
                    errors.push(FieldError::invalid(at, Value::Null, "field cannot be modified once set"));
                }
            }
            Rule::Handler(what, members) => handler(value, what, members, at, errors),
            Rule::Union(members) => union(value, members, at, errors),
            _ if absent && !judged => {}
            Rule::Enum(values, _) => {
                if value.as_str().is_some_and(|text| !values.contains(&text)) {
                    errors.push(FieldError::not_supported(at, value, values));
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
            Rule::Range(min, max, _, own) => {
                if number(value).is_some_and(|number| !(*min..=*max).contains(&number)) {
                    let why = match own.is_empty() {
                        true => format!("must be between {min} and {max}, inclusive"),
                        false => (*own).to_owned(),
                    };
                    errors.push(FieldError::invalid(at, value, &why));
                }
            }
            Rule::Above(_, zero) => {
                if value == "" || number(value).is_some_and(|number| number <= 0) {
                    let printed = if value == "" { Value::from(0) } else { value.clone() };
                    errors.push(FieldError::invalid(at, printed, &format!("must be greater than {zero}")));
                }
            }
            Rule::Format(format, _) => {
                for why in value.as_str().into_iter().flat_map(|text| format.problems(text)) {
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
            Rule::MaxLength(max) => {
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
            Rule::Required(_) | Rule::Given(_) | Rule::Filled(_) | Rule::Forbidden(_) => {}
            Rule::Only(_) | Rule::Unchecked | Rule::Created | Rule::With(..) => {}
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
    let mut keys = Vec::new();
    for (i, value) in value.as_array().into_iter().flatten().enumerate() {
        let Some(key) = key(value) else { continue };
        if keys.contains(&key) {
            let (place, printed) = match member {
                Some(member) => (format!("{at}[{i}].{member}"), &value[member]),
                None => (format!("{at}[{i}]"), value),
            };
            errors.push(FieldError::duplicate(place, printed));
        } else {
            keys.push(key);
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

fn handler(value: &Value, what: &str, members: &[&str], at: &str, errors: &mut Vec<FieldError>) {
    if value.is_null() {
        return;
    }
    if given(value, members).is_empty() {
        errors.push(FieldError::required(at, &format!("must specify a {what} type")));
    }
    for member in others(value, members) {
        let place = format!("{at}.{}", plain(member).1);
        errors.push(FieldError::forbidden(place, &format!("may not specify more than 1 {what} type")));
    }
}

fn union(value: &Value, members: &[&str], at: &str, errors: &mut Vec<FieldError>) {
    let given = given(value, members);
    if value.is_null() || given.len() == 1 {
        return;
    }
    let (printed, members) = (given.join(", "), members.join("`, `"));
    let why = format!("must specify exactly one of: `{members}`");
    errors.push(FieldError::invalid(at, if printed.is_empty() { "\"\"".to_owned() } else { printed }, &why));
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
