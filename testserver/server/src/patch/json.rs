//! JSON patch (RFC 6902), with the deviations of genuine servers: negative list indexes count from the end, `replace` sets a missing member, which is null for `test` and `copy`, and a value that is not given is null.

use serde_json::Value;

use super::PatchError;
use crate::schema::golang;

/// The largest number of operations in a patch.
const LIMIT: usize = 10_000;

/// Applies the operations in order.
pub(crate) fn apply(target: &mut Value, patch: &Value) -> Result<(), PatchError> {
    let Value::Array(operations) = patch else {
        return Err(not_a(patch, "[]handlers.jsonPatchOp"));
    };
    if operations.len() > LIMIT {
        return Err(PatchError::TooLong { limit: LIMIT, provided: operations.len() });
    }
    let operations = operations.iter().map(JsonPatchOp::read).collect::<Result<Vec<_>, _>>()?;
    operations.iter().try_for_each(|op| op.run(target)).map_err(PatchError::NotApplicable)
}

enum JsonPatchOp<'p> {
    Add(Vec<String>, &'p Value),
    Remove(Vec<String>),
    Replace(Vec<String>, &'p Value),
    Move(Vec<String>, Vec<String>),
    Copy(Vec<String>, Vec<String>),
    Test(Vec<String>, &'p Value),
}

impl<'p> JsonPatchOp<'p> {
    fn read(op: &'p Value) -> Result<Self, PatchError> {
        let Value::Object(fields) = op else {
            return Err(not_a(op, "handlers.jsonPatchOp"));
        };
        for name in ["op", "path", "from"] {
            if let Some(value) = fields.get(name).filter(|value| !value.is_string() && !value.is_null()) {
                let found = golang::json_type(value);
                return Err(PatchError::Malformed(format!(
                    "error decoding patch: json: cannot unmarshal {found} into Go struct field jsonPatchOp.{name} of type string"
                )));
            }
        }
        let pointer = |name: &str| {
            let text = fields.get(name).and_then(Value::as_str);
            text.and_then(parse_pointer)
                .ok_or_else(|| PatchError::NotApplicable(format!("{name} is no pointer in {op}")))
        };
        // Without a value it is null.
        let value = fields.get("value").unwrap_or(&Value::Null);
        match fields.get("op").and_then(Value::as_str) {
            Some("add") => Ok(Self::Add(pointer("path")?, value)),
            Some("remove") => Ok(Self::Remove(pointer("path")?)),
            Some("replace") => Ok(Self::Replace(pointer("path")?, value)),
            Some("move") => Ok(Self::Move(pointer("from")?, pointer("path")?)),
            Some("copy") => Ok(Self::Copy(pointer("from")?, pointer("path")?)),
            Some("test") => Ok(Self::Test(pointer("path")?, value)),
            _ => Err(PatchError::NotApplicable(format!("unsupported operation in {op}"))),
        }
    }

    fn run(&self, target: &mut Value) -> Result<(), String> {
        match self {
            Self::Add(path, value) => add(target, path, (*value).clone()),
            Self::Remove(path) => remove(target, path).map(drop),
            Self::Replace(path, value) => {
                *member(target, path)? = (*value).clone();
                Ok(())
            }
            Self::Move(from, path) => {
                if path.len() > from.len() && path.starts_with(from) {
                    return Err(format!("cannot move {} into itself", show(from)));
                }
                let value = remove(target, from)?;
                add(target, path, value)
            }
            Self::Copy(from, path) => {
                let value = peek(target, from)?;
                add(target, path, value)
            }
            Self::Test(path, value) => match peek(target, path)? {
                found if equal(&found, value) => Ok(()),
                _ => Err(format!("testing {}: not the expected value", show(path))),
            },
        }
    }
}

fn not_a(value: &Value, go: &str) -> PatchError {
    PatchError::Malformed(format!(
        "error decoding patch: json: cannot unmarshal {} into Go value of type {go}",
        golang::json_type(value)
    ))
}

/// RFC 6901: `/a~1b/0`; the empty text is the whole document.
fn parse_pointer(text: &str) -> Option<Vec<String>> {
    if text.is_empty() {
        return Some(Vec::new());
    }
    Some(text.strip_prefix('/')?.split('/').map(|t| t.replace("~1", "/").replace("~0", "~")).collect())
}

fn show(path: &[String]) -> String {
    path.iter().map(|t| format!("/{}", t.replace('~', "~0").replace('/', "~1"))).collect()
}

/// The index of an existing element; a negative one counts from the end.
fn index(token: &str, len: usize) -> Option<usize> {
    let at: i64 = token.parse().ok()?;
    let at = if at < 0 { at.checked_add(i64::try_from(len).ok()?)? } else { at };
    usize::try_from(at).ok().filter(|at| *at < len)
}

fn find<'v>(target: &'v mut Value, path: &[String]) -> Result<&'v mut Value, String> {
    path.iter()
        .try_fold(target, |at, token| match at {
            Value::Object(map) => map.get_mut(token),
            Value::Array(list) => index(token, list.len()).and_then(|i| list.get_mut(i)),
            _ => None,
        })
        .ok_or_else(|| format!("nothing at {}", show(path)))
}

/// The place of a value; a member that an object lacks becomes null.
fn member<'v>(target: &'v mut Value, path: &[String]) -> Result<&'v mut Value, String> {
    match path.split_last() {
        Some((last, parent)) => match find(target, parent)? {
            Value::Object(map) => Ok(map.entry(last.clone()).or_insert(Value::Null)),
            other => find(other, std::slice::from_ref(last)),
        },
        None => Ok(target),
    }
}

/// A copy of a value; null for a member that an object lacks.
fn peek(target: &mut Value, path: &[String]) -> Result<Value, String> {
    match path.split_last() {
        Some((last, parent)) => match find(target, parent)? {
            Value::Object(map) => Ok(map.get(last).cloned().unwrap_or_default()),
            other => find(other, std::slice::from_ref(last)).cloned(),
        },
        None => Ok(target.clone()),
    }
}

fn add(target: &mut Value, path: &[String], value: Value) -> Result<(), String> {
    let (last, parent) = path.split_last().ok_or("the whole object is no member")?;
    match find(target, parent)? {
        Value::Object(map) => {
            map.insert(last.clone(), value);
            Ok(())
        }
        Value::Array(list) if last == "-" => {
            list.push(value);
            Ok(())
        }
        Value::Array(list) => {
            // An insert may be behind the last element, which is where -1 is.
            let at = index(last, list.len() + 1);
            let at = at.ok_or_else(|| format!("no index {last} in the list at {}", show(parent)))?;
            list.insert(at, value);
            Ok(())
        }
        _ => Err(format!("neither object nor list at {}", show(parent))),
    }
}

fn remove(target: &mut Value, path: &[String]) -> Result<Value, String> {
    let missing = || format!("nothing at {}", show(path));
    let (last, parent) = path.split_last().ok_or("the whole object cannot be removed")?;
    match find(target, parent)? {
        Value::Object(map) => map.remove(last).ok_or_else(missing),
        Value::Array(list) => index(last, list.len()).map(|i| list.remove(i)).ok_or_else(missing),
        _ => Err(missing()),
    }
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
