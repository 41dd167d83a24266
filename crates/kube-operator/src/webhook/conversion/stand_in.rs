//! Decodes partial objects: stand-ins take the place of required fields that are missing. Pure.

use std::{collections::BTreeMap, fmt};

use json_patch::jsonptr::PointerBuf;
use serde_json::{Value, json};
use serde_path_to_error::Segment;

use super::convert::ConversionError;

/// More than any object lacks: filling ends also where a type answers each value with another error.
const MAX_STEPS: usize = 1000;

/// Why an object does not decode.
#[derive(Debug)]
pub(super) struct Mismatch {
    path: Vec<Segment>,
    text: String,
    message: String,
}

impl Mismatch {
    pub(super) fn of(error: serde_path_to_error::Error<serde_json::Error>) -> Self {
        let path = error.path().iter().cloned().collect();
        Self { path, text: error.path().to_string(), message: error.inner().to_string() }
    }

    pub(super) fn of_encoding(error: serde_json::Error) -> Self {
        Self { path: Vec::new(), text: ".".into(), message: error.to_string() }
    }

    /// The name of the required field that is missing.
    pub(super) fn missing_field(&self) -> Option<&str> {
        self.message.strip_prefix("missing field `")?.split('`').next()
    }

    /// Where it is in the object.
    fn place(&self, object: &Value) -> PointerBuf {
        let mut place = PointerBuf::new();
        for segment in &self.path {
            match segment {
                Segment::Map { key } => place.push_back(key),
                Segment::Seq { index } => place.push_back(*index),
                Segment::Enum { variant } => {
                    let is_key = place.resolve(object).is_ok_and(|value| value.get(variant).is_some());
                    if is_key {
                        place.push_back(variant);
                    }
                }
                Segment::Unknown => break,
            }
        }
        place
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.text, self.message)
    }
}

impl std::error::Error for Mismatch {}

/// Which values stand in. What is the same with both does not come from them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    First,
    Second,
}

/// A partial object with stand-ins.
pub(super) struct Filled {
    pub(super) object: Value,
    /// The fields that were missing, such as `spec.size`.
    pub(super) fields: Vec<String>,
}

/// Puts stand-ins where `decode` misses a field, until the object decodes. Values of `example` are the first choice, and the last of the
/// second.
///
/// # Errors
/// If the object has something else that does not decode, or nothing fits a field.
pub(super) fn fill<T>(
    mut object: Value,
    example: Option<&Value>,
    choice: Choice,
    decode: impl Fn(&Value) -> Result<T, Mismatch>,
) -> Result<Filled, ConversionError> {
    let mut open = BTreeMap::<String, StandIn>::new();
    let mut last = PointerBuf::new();
    for _ in 0..MAX_STEPS {
        let mismatch = match decode(&object) {
            Ok(_) => {
                let fields = open.into_keys().map(|place| place[1..].replace('/', ".")).collect();
                return Ok(Filled { object, fields });
            }
            Err(mismatch) => mismatch,
        };
        let mut place = mismatch.place(&object);
        let next = match mismatch.missing_field() {
            Some(field) => {
                let parent = place.resolve_mut(&mut object).ok().and_then(Value::as_object_mut);
                let Some(parent) = parent else { return Err(mismatch.into()) };
                parent.insert(field.to_owned(), Value::Null);
                place.push_back(field);
                let example = example.and_then(|example| place.resolve(example).ok());
                let mut stand_in = StandIn::new(example.cloned(), choice);
                let next = stand_in.next();
                open.insert(place.to_string(), stand_in);
                next
            }
            // Errors in tagged and flattened types are those of the value around: the last stand-in in it does not fit.
            None => loop {
                if last.starts_with(&place) && last.len() > place.len() {
                    place.clone_from(&last);
                }
                if let Some(stand_in) = open.get_mut(place.as_str()) {
                    break stand_in.other(&mismatch);
                }
                if place.pop_back().is_none() {
                    return Err(mismatch.into());
                }
            },
        };
        last.clone_from(&place);
        match (next, place.resolve_mut(&mut object)) {
            (Some(next), Ok(value)) => *value = next,
            _ => {
                let field = place.as_str()[1..].replace('/', ".");
                let why = format!(
                    "the object is partial, and nothing is known that can stand for {field} ({mismatch}): give the Versions an example"
                );
                return Err(why.into());
            }
        }
    }
    Err("the object is partial, and lacks too many fields".into())
}

/// The values that are tried for one field.
struct StandIn {
    candidates: std::vec::IntoIter<Value>,
    choice: Choice,
}

impl StandIn {
    fn new(example: Option<Value>, choice: Choice) -> Self {
        let usual = match choice {
            Choice::First => [
                json!({}),
                json!(""),
                json!(0),
                json!(false),
                json!([]),
                json!("1970-01-01T00:00:00Z"),
                json!("0"),
            ],
            Choice::Second => [
                json!({}),
                json!("x"),
                json!(1),
                json!(true),
                json!([]),
                json!("1970-01-02T00:00:00Z"),
                json!("1"),
            ],
        };
        let (before, after) = if choice == Choice::First { (example, None) } else { (None, example) };
        let candidates: Vec<_> = before.into_iter().chain(usual).chain(after).collect();
        Self { candidates: candidates.into_iter(), choice }
    }

    fn next(&mut self) -> Option<Value> {
        self.candidates.next()
    }

    /// The next one, after one that did not fit.
    fn other(&mut self, mismatch: &Mismatch) -> Option<Value> {
        let mut variants = variants(&mismatch.message);
        if !variants.is_empty() {
            if self.choice == Choice::Second {
                variants.rotate_left(1);
            }
            let with_content = variants.iter().map(|variant| json!({variant: {}}));
            let candidates: Vec<_> =
                variants.iter().map(|variant| json!(variant)).chain(with_content).collect();
            self.candidates = candidates.into_iter();
        }
        self.next()
    }
}

/// The variants of an enum that serde's message names.
pub(super) fn variants(message: &str) -> Vec<String> {
    let Some((_, expected)) =
        message.strip_prefix("unknown variant `").and_then(|rest| rest.split_once("`, expected "))
    else {
        return Vec::new();
    };
    expected.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}
