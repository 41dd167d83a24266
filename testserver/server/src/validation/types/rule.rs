//! One rule, and the errors of a value.

use serde_json::Value;

use super::{
    content::{self, Content, Zero},
    members,
};
use crate::schema::ErrorList;

pub(super) enum Rule {
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
    Content(Content),
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

/// A value that is judged.
pub(super) struct Subject<'v> {
    pub(super) value: &'v Value,
    pub(super) old: Option<&'v Value>,
    /// Whether an empty value is one, as it is behind a pointer and in a list.
    pub(super) set: bool,
    /// Whether it is an element whose error is its own.
    pub(super) element: bool,
    pub(super) at: &'v str,
}

impl Rule {
    pub(super) fn parse(text: &'static str) -> Option<Self> {
        let (name, rest) = text.split_once(' ').unwrap_or((text, ""));
        let list = || rest.split('|').collect();
        Some(match name {
            "required" => Self::Required(rest),
            "given" => Self::Given(false),
            "first" => Self::Given(true),
            "filled" => Self::Filled(rest),
            "unchecked" => Self::Unchecked,
            "forbidden" => Self::Forbidden(rest),
            "handler" => {
                let (what, members) = rest.split_once(' ')?;
                Self::Handler(what, members.split('|').collect())
            }
            "only" => Self::Only(list()),
            "union" => Self::Union(list()),
            "immutable" => Self::Immutable,
            "kept" => Self::Kept,
            "created" => Self::Created,
            "with" => {
                let (member, value) = rest.split_once(' ')?;
                Self::With(member, value)
            }
            _ => Self::Content(Content::parse(name, rest)?),
        })
    }

    pub(super) fn judge(&self, subject: &Subject<'_>, errors: &mut ErrorList) {
        let &Subject { value, old, set, element, at } = subject;
        let zero = content::is_zero(value);
        let absent = value.is_null() || zero && !set;
        match self {
            Self::Required(why) => {
                if absent || zero && (value.is_string() || value.is_array() || element) {
                    errors.required(at, why);
                }
            }
            Self::Given(_) if value.is_null() => errors.required(at, ""),
            Self::Filled(why) if value == "" => errors.required(at, why),
            Self::Forbidden(why) if !absent => errors.forbidden(at, why),
            Self::Immutable => {
                if old.is_some_and(|old| old != value) {
                    // Genuine servers do not print the value.
                    errors.invalid(at, Value::Null, "field is immutable");
                }
            }
            Self::Kept => {
                if !value.is_null() && old.is_some_and(|old| !old.is_null() && old != value) {
                    errors.invalid(at, Value::Null, "field cannot be modified once set");
                }
            }
            Self::Handler(what, names) => members::handler(value, what, names, at, errors),
            Self::Union(names) => members::union(value, names, at, errors),
            Self::Content(content) => {
                let missing = match content.zero() {
                    Zero::Missing => absent,
                    Zero::Judged => false,
                    Zero::Unfilled => zero,
                };
                if !missing {
                    // What is not there is an empty text.
                    let value = if value.is_null() { &Value::from("") } else { value };
                    content.judge(value, at, errors);
                }
            }
            Self::Given(_) | Self::Filled(_) | Self::Forbidden(_) => {}
            Self::Only(_) | Self::Unchecked | Self::Created | Self::With(..) => {}
        }
    }
}
