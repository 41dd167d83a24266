//! JSON patch (RFC 6902), with the deviations of genuine servers: negative list indexes count from the end, a missing value is null,
//! `replace` adds a missing member, `copy` and `test` read one as null.

use std::fmt;

use serde_json::{Map, Value};

use super::PatchError;
use crate::schema::golang;

/// The largest number of operations in a patch.
const LIMIT: usize = 10_000;

/// Applies the operations in order.
pub(crate) fn apply(target: &mut Value, patch: &Value) -> Result<(), PatchError> {
    let operations = match patch {
        Value::Array(operations) => operations.as_slice(),
        Value::Null => &[],
        other => return Err(not_a(other, "[]handlers.jsonPatchOp")),
    };
    if operations.len() > LIMIT {
        return Err(PatchError::TooLong { limit: LIMIT, provided: operations.len() });
    }
    let operations = operations.iter().map(JsonPatchOp::read).collect::<Result<Vec<_>, _>>()?;
    operations.iter().try_for_each(|op| op.run(target)).map_err(PatchError::NotApplicable)
}

/// The paths of members that no operation has, such as `[0].foo`.
pub(crate) fn unknown_fields(patch: &Value) -> Vec<String> {
    let operations = patch.as_array().into_iter().flatten().enumerate();
    let of_one = |(i, operation): (usize, &Value)| {
        let names = operation.as_object().into_iter().flat_map(|fields| fields.keys());
        let unknown = names.filter(|name| !["op", "path", "from", "value"].contains(&name.as_str()));
        unknown.map(|name| format!("[{i}].{name}")).collect::<Vec<_>>()
    };
    operations.flat_map(of_one).collect()
}

enum JsonPatchOp<'p> {
    Add(Pointer, &'p Value),
    Remove(Pointer),
    Replace(Pointer, &'p Value),
    Move(Pointer, Pointer),
    Copy(Pointer, Pointer),
    Test(Pointer, &'p Value),
    Impossible,
}

impl<'p> JsonPatchOp<'p> {
    /// An operation that cannot run is found when its turn comes.
    fn read(op: &'p Value) -> Result<Self, PatchError> {
        if !matches!(op, Value::Object(_) | Value::Null) {
            return Err(not_a(op, "handlers.jsonPatchOp"));
        }
        let text = |name: &str| match &op[name] {
            Value::Null => Ok(None),
            Value::String(text) => Ok(Some(text.as_str())),
            other => Err(PatchError::Malformed(format!(
                "error decoding patch: json: cannot unmarshal {} into Go struct field jsonPatchOp.{name} of type string",
                golang::json_type(other)
            ))),
        };
        let (name, from, path) =
            (text("op")?, text("from")?.map(Pointer::parse), text("path")?.map(Pointer::parse));
        let value = &op["value"];
        Ok(match (name, from, path) {
            (Some("add"), _, Some(path)) => Self::Add(path, value),
            (Some("remove"), _, Some(path)) => Self::Remove(path),
            (Some("replace"), _, Some(path)) => Self::Replace(path, value),
            (Some("move"), Some(from), Some(path)) => Self::Move(from, path),
            (Some("copy"), Some(from), Some(path)) => Self::Copy(from, path),
            (Some("test"), _, Some(path)) => Self::Test(path, value),
            _ => Self::Impossible,
        })
    }

    fn run(&self, target: &mut Value) -> Result<(), String> {
        match self {
            Self::Add(path, value) => add(target, path, (*value).clone()),
            Self::Remove(path) => remove(target, path).map(drop),
            Self::Replace(Pointer::Whole, value) => {
                *target = (*value).clone();
                Ok(())
            }
            Self::Replace(path, value) => {
                *path.place(target)?.or_insert()? = (*value).clone();
                Ok(())
            }
            Self::Move(from, path) => {
                let value = remove(target, from)?;
                add(target, path, value)
            }
            Self::Copy(from, path) => {
                let value = from.place(target)?.read()?.cloned().unwrap_or_default();
                add(target, path, value)
            }
            Self::Test(Pointer::Whole, value) if equal(target, value) => Ok(()),
            Self::Test(path, value) => match path.place(target)?.read()? {
                Some(actual) if equal(actual, value) => Ok(()),
                None if value.is_null() => Ok(()),
                _ => Err(format!("testing {path}: not the expected value")),
            },
            Self::Impossible => Err("an unknown operation, or one without its path".into()),
        }
    }
}

fn not_a(value: &Value, go: &str) -> PatchError {
    PatchError::Malformed(format!(
        "error decoding patch: json: cannot unmarshal {} into Go value of type {go}",
        golang::json_type(value)
    ))
}

/// Where an operation works. As on genuine servers, what precedes the first slash is ignored.
enum Pointer {
    Whole,
    /// The steps to an object or list, and the last one in it.
    Inner(Vec<String>, String),
    /// A text without a slash.
    Nowhere,
}

impl Pointer {
    /// RFC 6901: `/a~1b/0`; the empty text is the whole document.
    fn parse(text: &str) -> Self {
        if text.is_empty() {
            return Self::Whole;
        }
        let Some((_, steps)) = text.split_once('/') else { return Self::Nowhere };
        let mut steps: Vec<String> =
            steps.split('/').map(|step| step.replace("~1", "/").replace("~0", "~")).collect();
        let last = steps.pop().unwrap_or_default();
        Self::Inner(steps, last)
    }

    fn place<'v>(&'v self, target: &'v mut Value) -> Result<Place<'v>, String> {
        let Self::Inner(steps, last) = self else { return Err(format!("nothing can be at {self}")) };
        let parent = steps.iter().try_fold(target, |at, step| match at {
            Value::Object(map) => map.get_mut(step),
            Value::Array(list) => index(step, list.len()).and_then(|i| list.get_mut(i)),
            _ => None,
        });
        match parent {
            Some(Value::Object(map)) => Ok(Place::Member(map, last)),
            Some(Value::Array(list)) => Ok(Place::Element(list, last)),
            _ => Err(format!("neither object nor list above {self}")),
        }
    }
}

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole => f.write_str("the whole document"),
            Self::Inner(steps, last) => {
                write!(f, "{:?}", [steps.as_slice(), std::slice::from_ref(last)].concat())
            }
            Self::Nowhere => f.write_str("a path without a slash"),
        }
    }
}

/// A member or an element that may not exist.
enum Place<'v> {
    Member(&'v mut Map<String, Value>, &'v str),
    Element(&'v mut Vec<Value>, &'v str),
}

impl<'v> Place<'v> {
    /// The value; `None` for a missing member. A missing element is an error.
    fn read(self) -> Result<Option<&'v Value>, String> {
        match self {
            Self::Member(map, name) => Ok(map.get(name)),
            Self::Element(list, at) => {
                let element = index(at, list.len()).and_then(|i| list.get(i));
                element.map(Some).ok_or_else(|| no_element(at))
            }
        }
    }

    /// The value to replace. A missing member is added.
    fn or_insert(self) -> Result<&'v mut Value, String> {
        match self {
            Self::Member(map, name) => Ok(map.entry(name).or_insert(Value::Null)),
            Self::Element(list, at) => {
                index(at, list.len()).and_then(|i| list.get_mut(i)).ok_or_else(|| no_element(at))
            }
        }
    }
}

fn no_element(at: &str) -> String {
    format!("no element {at}")
}

/// The index of an existing element; a negative one counts from the end.
fn index(token: &str, len: usize) -> Option<usize> {
    let at: i64 = token.parse().ok()?;
    let at = if at < 0 { at.checked_add(i64::try_from(len).ok()?)? } else { at };
    usize::try_from(at).ok().filter(|at| *at < len)
}

fn add(target: &mut Value, path: &Pointer, value: Value) -> Result<(), String> {
    match path.place(target)? {
        Place::Member(map, name) => {
            map.insert(name.to_owned(), value);
        }
        Place::Element(list, "-") => list.push(value),
        Place::Element(list, at) => {
            // An insert may be behind the last element, as which -1 counts.
            let at = index(at, list.len() + 1).ok_or_else(|| no_element(at))?;
            list.insert(at, value);
        }
    }
    Ok(())
}

fn remove(target: &mut Value, path: &Pointer) -> Result<Value, String> {
    let removed = match path.place(target)? {
        Place::Member(map, name) => map.remove(name),
        Place::Element(list, at) => index(at, list.len()).map(|i| list.remove(i)),
    };
    removed.ok_or_else(|| format!("nothing at {path}"))
}

/// Compares numbers by value (`1` equals `1.0`), as the RFC demands.
fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => {
            a == b || (a.as_f64() == b.as_f64() && (a.is_f64() || b.is_f64()))
        }
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(k, v)| b.get(k).is_some_and(|w| equal(v, w)))
        }
        _ => a == b,
    }
}

#[cfg(test)]
mod tests;
