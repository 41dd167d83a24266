//! Parses and formats Go's notation of durations.

use std::{fmt, num::ParseFloatError, time::Duration};

/// The text is no duration in Go's notation.
///
/// ```
/// use kube_core::{Duration, duration::ParseError};
///
/// let error = |text: &str| text.parse::<Duration>().expect_err(text);
/// assert_eq!(error("5d"), ParseError::InvalidUnit);
/// assert_eq!(error("90"), ParseError::NoUnit);
/// assert!(matches!(error("one hour"), ParseError::NotANumber(_)));
/// assert_eq!(error("3000000h"), ParseError::TooLong);
/// assert_eq!(error("90").to_string(), "missing a unit: expected one of 'ns', 'us', 'µs', 'ms', 's', 'm', or 'h'");
/// ```
#[derive(Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseError {
    /// A number is followed by an unknown unit: there are no days or weeks.
    #[error("invalid unit: expected one of 'ns', 'us', 'µs', 'ms', 's', 'm', or 'h'")]
    InvalidUnit,

    /// A number has no unit; only `0` needs none.
    #[error("missing a unit: expected one of 'ns', 'us', 'µs', 'ms', 's', 'm', or 'h'")]
    NoUnit,

    /// A number is missing or malformed, as in the empty text.
    #[error("invalid floating-point number: {0}")]
    NotANumber(#[from] ParseFloatError),

    /// Longer than fits into 64 bits of nanoseconds, about 292 years, which is Go's limit.
    #[error("duration too long, expected at most 2562047h47m16.854775807s")]
    TooLong,
}

/// Returns the magnitude and whether the duration is negative.
pub(super) fn parse(text: &str) -> Result<(Duration, bool), ParseError> {
    let (is_negative, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Ok((Duration::ZERO, false));
    }
    let mut total = 0_u128;
    loop {
        let nanos;
        (nanos, rest) = part(rest)?;
        total = total.checked_add(nanos).ok_or(ParseError::TooLong)?;
        if rest.is_empty() {
            break;
        }
    }
    // Two's complement: a negative duration can be one nanosecond longer.
    let limit = u64::from(is_negative) + i64::MAX.unsigned_abs();
    let nanos = u64::try_from(total).ok().filter(|nanos| *nanos <= limit).ok_or(ParseError::TooLong)?;
    Ok((Duration::from_nanos(nanos), is_negative))
}

/// Parses one number with its unit; returns the nanoseconds and the rest of the text.
fn part(text: &str) -> Result<(u128, &str), ParseError> {
    let (number, rest) =
        text.split_at(text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len()));
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
        // Always an error: the number is empty, a lone point, or has two points.
        number.parse::<f64>()?;
    }
    let (unit, rest) =
        rest.split_at(rest.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(rest.len()));
    let scale: u128 = match unit {
        "ns" => 1,
        "us" | "\u{b5}s" | "\u{3bc}s" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        "" => return Err(ParseError::NoUnit),
        _ => return Err(ParseError::InvalidUnit),
    };
    let whole = digits(whole).and_then(|n| n.checked_mul(scale)).ok_or(ParseError::TooLong)?;
    Ok((whole + u128::from(fraction_of(fraction, scale)), rest))
}

/// The nanoseconds of the digits after the point, rounded as Go does: digits beyond 63 bits are dropped, and the rest is
/// multiplied in floating point. A third of an hour written with nineteen digits is 20 minutes.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "Go rounds the same way; the product is less than one unit, 3.6e12"
)]
fn fraction_of(digits: &str, unit: u128) -> u64 {
    let (mut value, mut scale) = (0_u64, 1.0_f64);
    for digit in digits.bytes().map(|digit| u64::from(digit - b'0')) {
        match value.checked_mul(10).and_then(|value| value.checked_add(digit)) {
            Some(next) if next <= 1 << 63 => value = next,
            _ => break,
        }
        scale *= 10.0;
    }
    (value as f64 * (unit as f64 / scale)) as u64
}

/// Parses decimal digits: empty is zero, more than 64 bits is `None`.
fn digits(text: &str) -> Option<u128> {
    if text.is_empty() { Some(0) } else { text.parse::<u64>().ok().map(u128::from) }
}

pub(super) fn write(f: &mut fmt::Formatter<'_>, magnitude: Duration, is_negative: bool) -> fmt::Result {
    if is_negative {
        f.write_str("-")?;
    }
    let (seconds, nanos) = (magnitude.as_secs(), magnitude.subsec_nanos());
    if seconds > 0 {
        let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
        if hours > 0 {
            write!(f, "{hours}h")?;
        }
        if hours > 0 || minutes > 0 {
            write!(f, "{minutes}m")?;
        }
        write!(f, "{}", seconds % 60)?;
        return unit(f, nanos, 9, "s");
    }
    match nanos {
        0 => f.write_str("0s"),
        1..1_000 => write!(f, "{nanos}ns"),
        1_000..1_000_000 => {
            write!(f, "{}", nanos / 1_000)?;
            unit(f, nanos % 1_000, 3, "µs")
        }
        _ => {
            write!(f, "{}", nanos / 1_000_000)?;
            unit(f, nanos % 1_000_000, 6, "ms")
        }
    }
}

/// Writes a fraction of `digits` digits without trailing zeros, and the unit.
fn unit(f: &mut fmt::Formatter<'_>, fraction: u32, digits: usize, unit: &str) -> fmt::Result {
    if fraction > 0 {
        let text = format!("{fraction:0digits$}");
        write!(f, ".{}", text.trim_end_matches('0'))?;
    }
    f.write_str(unit)
}
