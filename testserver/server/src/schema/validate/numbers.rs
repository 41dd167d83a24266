//! Numbers as Go judges them: whole JSON numbers are compared as integers, with the bounds cut to integers.

use serde_json::{Number, Value};

use crate::schema::{
    ErrorList,
    model::{Bound, Node, Type, ValueValidation},
    path::Path,
};

/// The largest whole number that a float has exactly.
const MAX_EXACT: f64 = 9_007_199_254_740_991.0;
const EPSILON: f64 = 1e-9;
/// The first number beyond 64 bits.
pub(super) const INT64: f64 = 9_223_372_036_854_775_808.0;

pub(super) fn check(
    errors: &mut ErrorList,
    node: &Node,
    rules: &ValueValidation,
    n: &Number,
    text: &str,
    path: &Path<'_>,
) {
    let whole = n.as_i64();
    let float = n.as_f64().unwrap_or_default();
    let mut wrong = |bad_value: &str, why: &str| errors.invalid(path.to_string(), bad_value, why);
    if let Some(of) = rules.multiple_of {
        match whole {
            _ if node.ty == Some(Type::Integer) && of.fract() != 0.0 => {
                let why = format!("MultipleOf value must be of type integer (default format) in {path}");
                errors.without_field(&why);
                return;
            }
            Some(_) if of < 1.0 => {
                wrong("0", &format!("factor MultipleOf declared for {path} must be positive: 0"));
            }
            _ if !is_multiple(whole, float, of) => {
                wrong(text, &format!("{path} in body should be a multiple of {of}"));
            }
            _ => {}
        }
    }
    let bound =
        |bound: Bound| Bound { at: if whole.is_some() { bound.at.trunc() } else { bound.at }, ..bound };
    if let Some(max) = rules.maximum.map(bound) {
        match max.exclusive {
            true if float >= max.at => wrong(text, &format!("{path} in body should be less than {}", max.at)),
            false if float > max.at => {
                wrong(text, &format!("{path} in body should be less than or equal to {}", max.at));
            }
            _ => {}
        }
    }
    if let Some(min) = rules.minimum.map(bound) {
        match min.exclusive {
            true if float <= min.at => {
                wrong(text, &format!("{path} in body should be greater than {}", min.at))
            }
            false if float < min.at => {
                wrong(text, &format!("{path} in body should be greater than or equal to {}", min.at));
            }
            _ => {}
        }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "Go cuts the factor to an integer")]
fn is_multiple(whole: Option<i64>, float: f64, of: f64) -> bool {
    match whole {
        Some(whole) => whole % (of.trunc() as i64).max(1) == 0,
        None => is_whole(if of < 1.0 { 1.0 / of * float } else { float / of }),
    }
}

/// Whether Go takes a float for an integer: rounding errors are ignored, large numbers are not integers.
pub(super) fn is_whole(float: f64) -> bool {
    let nearest = float.round();
    let difference = (float - nearest).abs();
    float.abs() <= MAX_EXACT && (difference == 0.0 || difference / (float.abs() + nearest.abs()) < EPSILON)
}

/// Whether values are equal, with `1` and `1.0` the same number.
pub(super) fn equal(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(a), Value::Number(b)) => {
            a == b || a.as_f64() == b.as_f64() && !(a.is_i64() && b.is_i64())
        }
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(name, a)| b.get(name).is_some_and(|b| equal(a, b)))
        }
        _ => one == other,
    }
}

/// The value as Go prints it: whole floats without a fraction.
pub(super) fn shown(value: &Value) -> String {
    match value {
        Value::Number(n) if n.is_f64() => {
            let float = n.as_f64().unwrap_or_default();
            if float.abs() >= 1e21 || float.fract() != 0.0 && float.abs() < 1e-6 {
                let text = format!("{float:e}");
                return if float.abs() >= 1.0 { text.replace('e', "e+") } else { text };
            }
            format!("{float}")
        }
        other => other.to_string(),
    }
}
