//! Converts partial objects: of the result, only what comes from the object is kept. Pure.
//!
//! What that is shows by trying: a value of the result comes from the object if it is another one when the object's values are removed or
//! changed.

use json_patch::jsonptr::PointerBuf;
use serde_json::{Map, Value, json};

use super::{
    convert::ConversionError,
    stand_in::{Choice, Filled, Mismatch, variants},
};

/// How often a conversion is tried with changed values.
const MAX_TRIALS: usize = 100;

/// A converted partial object.
pub(super) struct Partial {
    /// What comes from the object.
    pub(super) converted: Value,
    /// The same with what comes from the stand-ins.
    pub(super) whole: Value,
    /// The object with the stand-ins, as its type has it.
    pub(super) recoded: Value,
}

/// Converts an object in which `fill` puts stand-ins for missing fields. `recode` is how the type of the object has it.
///
/// # Errors
/// If the object cannot be filled, or its conversion fails with both choices of stand-ins.
pub(super) fn convert(
    object: &Value,
    fill: impl Fn(Value, Choice) -> Result<Filled, ConversionError>,
    recode: impl Fn(&Value) -> Result<Value, Mismatch>,
    convert: impl Fn(Value) -> Result<Value, ConversionError>,
) -> Result<Partial, ConversionError> {
    let run = |object: Value, choice| convert(fill(object, choice)?.object);
    let nothing = without_values(object);
    let mut results = Vec::new();
    for choice in [Choice::First, Choice::Second] {
        if let Ok(whole) = run(object.clone(), choice) {
            // If nothing cannot be converted, all of the result comes from the object.
            results.push((choice, whole, run(nothing.clone(), choice).unwrap_or_default()));
        }
    }
    let Some((choice, whole, _)) = results.first().cloned() else {
        let Filled { object, fields } = fill(object.clone(), Choice::First)?;
        let fields = fields.join(", ");
        let why = convert(object).err().map(|why| why.to_string()).unwrap_or_default();
        let text = format!(
            "the object is partial, and the conversion refuses what stands for {fields} ({why}): give the Versions an example"
        );
        return Err(text.into());
    };
    let filled = fill(object.clone(), choice)?.object;
    let recoded = recode(&filled)?;
    let changed =
        Trials { object, run: |object| run(object, choice), step: 1, left: MAX_TRIALS }.of_all_values();
    let sources = Sources {
        object: Some(object),
        recoded: Some(&recoded),
        wholes: results.iter().map(|(_, whole, _)| Some(whole)).collect(),
        emptied: results.iter().map(|(.., emptied)| Some(emptied)).collect(),
        changed: changed.iter().map(Some).collect(),
    };
    let mut converted = sources.kept(&whole).unwrap_or_else(|| json!({}));
    // An API server refuses a result without metadata.
    if !converted["metadata"].is_object() {
        converted["metadata"] = json!({});
    }
    Ok(Partial { converted, whole, recoded })
}

/// Only what every object has.
fn without_values(object: &Value) -> Value {
    json!({"apiVersion": object["apiVersion"], "kind": object["kind"], "metadata": {}})
}

/// What there is at one place.
struct Sources<'a> {
    object: Option<&'a Value>,
    /// In the object with stand-ins and the defaults of its type.
    recoded: Option<&'a Value>,
    /// In the results with each choice of stand-ins.
    wholes: Vec<Option<&'a Value>>,
    /// The same of an object without values.
    emptied: Vec<Option<&'a Value>>,
    /// In the results for objects with changed values.
    changed: Vec<Option<&'a Value>>,
}

impl<'a> Sources<'a> {
    /// The part of a result that comes from the object.
    fn kept(&self, whole: &Value) -> Option<Value> {
        match whole {
            Value::Object(fields) if !fields.is_empty() => {
                let child = |(key, child): (&String, &Value)| {
                    Some((key.clone(), self.below(|value| value.get(key)).kept(child)?))
                };
                let kept: Map<_, _> = fields.iter().filter_map(child).collect();
                (!kept.is_empty() || self.object.is_some_and(Value::is_object)).then_some(Value::Object(kept))
            }
            Value::Array(items) if !items.is_empty() => {
                let child = |(at, child): (usize, &Value)| self.below(|value| value.get(at)).kept(child);
                let kept: Vec<_> = items.iter().enumerate().filter_map(child).collect();
                (!kept.is_empty() || self.object.is_some_and(Value::is_array)).then_some(Value::Array(kept))
            }
            leaf => self.is_from_object(leaf).then(|| leaf.clone()),
        }
    }

    fn is_from_object(&self, leaf: &Value) -> bool {
        let follows_values = || self.changed.iter().any(|changed| *changed != Some(leaf));
        let goes_with_values = || self.wholes != self.emptied;
        let follows_stand_ins = || self.wholes.iter().any(|whole| *whole != Some(leaf));
        let is_default = || self.object.is_none() && self.recoded == Some(leaf);
        self.object == Some(leaf)
            || follows_values()
            || goes_with_values() && !follows_stand_ins() && !is_default()
    }

    fn below(&self, get: impl Fn(&'a Value) -> Option<&'a Value>) -> Self {
        let all = |values: &[Option<&'a Value>]| values.iter().map(|value| value.and_then(&get)).collect();
        Self {
            object: self.object.and_then(&get),
            recoded: self.recoded.and_then(&get),
            wholes: all(&self.wholes),
            emptied: all(&self.emptied),
            changed: all(&self.changed),
        }
    }
}

/// Conversions of the object with other values.
struct Trials<'a, R> {
    object: &'a Value,
    run: R,
    /// By how much numbers are changed.
    step: i64,
    left: usize,
}

impl<R: Fn(Value) -> Result<Value, ConversionError>> Trials<'_, R> {
    fn of_all_values(mut self) -> Vec<Value> {
        let mut places = Vec::new();
        for (key, value) in self.object.as_object().into_iter().flatten() {
            if !["apiVersion", "kind", "metadata"].contains(&key.as_str()) {
                leaves(value, &PointerBuf::from_tokens([key]), &mut places);
            }
        }
        let mut results = Vec::new();
        // A small change may be lost in a division, and a large one be refused.
        for step in [1, 1000] {
            self.step = step;
            self.of(&places, &mut results);
        }
        results
    }

    /// Changes the values at all of these places, or at as many as the conversion accepts.
    fn of(&mut self, places: &[PointerBuf], results: &mut Vec<Value>) {
        if places.is_empty() || self.left == 0 {
            return;
        }
        self.left -= 1;
        match ((self.run)(self.changed(places, &[])), places) {
            (Ok(result), _) => results.push(result),
            (Err(why), [_]) => {
                // The error may be of a field, with its path before.
                let why = why.to_string();
                let variants =
                    why.find("unknown variant `").map(|at| variants(&why[at..])).unwrap_or_default();
                results.extend(
                    (self.run)(self.changed(places, &variants)).ok().filter(|_| !variants.is_empty()),
                );
            }
            (Err(_), places) => {
                let (left, right) = places.split_at(places.len() / 2);
                self.of(left, results);
                self.of(right, results);
            }
        }
    }

    fn changed(&self, places: &[PointerBuf], variants: &[String]) -> Value {
        let mut object = self.object.clone();
        for place in places {
            let Ok(value) = place.resolve_mut(&mut object) else { continue };
            *value = match &*value {
                Value::String(text) => match variants.iter().find(|variant| *variant != text) {
                    Some(variant) => json!(variant),
                    None => json!(format!("{text}x")),
                },
                Value::Number(number) => match number.as_i64() {
                    Some(integer) => json!(integer.checked_add(self.step).unwrap_or(integer - self.step)),
                    None => json!(number.as_f64().unwrap_or_default() / 2.0 + self.step as f64),
                },
                Value::Bool(value) => json!(!value),
                other => other.clone(),
            };
        }
        object
    }
}

/// The places of all values that are no lists or maps.
fn leaves(value: &Value, place: &PointerBuf, found: &mut Vec<PointerBuf>) {
    let mut child = |token: json_patch::jsonptr::Token<'_>, value: &Value| {
        let mut place = place.clone();
        place.push_back(token);
        leaves(value, &place, found);
    };
    match value {
        Value::Object(fields) => fields.iter().for_each(|(key, value)| child(key.into(), value)),
        Value::Array(items) => items.iter().enumerate().for_each(|(at, value)| child(at.into(), value)),
        Value::Null => {}
        _ => found.push(place.clone()),
    }
}
