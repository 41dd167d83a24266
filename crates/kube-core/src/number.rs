//! Numbers as servers and kubectl print those of YAML in JSON.

use serde_json::Number;

/// Whole ones (`1.0`, `1e16`) have no fraction. `None` if it is infinite or no number.
pub fn json_number(value: f64) -> Option<Number> {
    // Larger ones have an exponent in Go.
    if value.fract() == 0.0 && value.abs() < 1e21 {
        return Some(whole(value as i128));
    }
    Number::from_f64(value)
}

/// A whole number, which is a float beyond 64 bits.
pub fn whole(value: i128) -> Number {
    let number = i64::try_from(value).map(Number::from).or_else(|_| u64::try_from(value).map(Number::from));
    // It is not infinite, so JSON has it.
    number.ok().or_else(|| Number::from_f64(value as f64)).unwrap_or_else(|| 0.into())
}
