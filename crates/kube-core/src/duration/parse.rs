//! Reads durations as Go does.

use std::{num::ParseFloatError, time};

use super::Duration;

/// The text is no duration in the notation of Go.
///
/// ```
/// use kube_core::{Duration, duration::ParseError};
///
/// let error = |text: &str| text.parse::<Duration>().expect_err(text);
/// assert_eq!(error("5d"), ParseError::InvalidUnit);
/// assert_eq!(error("90"), ParseError::NoUnit);
/// assert!(matches!(error("one hour"), ParseError::NotANumber(_)));
/// assert_eq!(error("3000000h"), ParseError::TooLong);
/// assert_eq!(error("90").to_string(), "missing unit in duration, expected one of h, m, s, ms, us, ns");
/// ```
#[derive(Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseError {
    /// A number is followed by something else than a unit: there are no days or weeks.
    #[error("unknown unit in duration, expected one of h, m, s, ms, us, ns")]
    InvalidUnit,

    /// A number has no unit; only `0` needs none.
    #[error("missing unit in duration, expected one of h, m, s, ms, us, ns")]
    NoUnit,

    /// Where a number should be, there is none, as in the empty text.
    #[error("not a number in duration")]
    NotANumber(#[from] ParseFloatError),

    /// Longer than Go can hold in 64 bits of nanoseconds, about 292 years.
    #[error("duration too long, expected at most 2562047h47m16.854775807s")]
    TooLong,
}

pub(super) fn duration(text: &str) -> Result<Duration, ParseError> {
    let (is_negative, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Ok(Duration::new(time::Duration::ZERO, false));
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
    // A negative duration can be one nanosecond longer, as in all two's complement numbers.
    let limit = u64::from(is_negative) + i64::MAX.unsigned_abs();
    let nanos = u64::try_from(total).ok().filter(|nanos| *nanos <= limit).ok_or(ParseError::TooLong)?;
    Ok(Duration::new(time::Duration::from_nanos(nanos), is_negative))
}

/// One number with its unit, in nanoseconds, and what follows.
fn part(text: &str) -> Result<(u128, &str), ParseError> {
    let (number, rest) =
        text.split_at(text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len()));
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
        // Always an error: the number is empty, a lone point, or has two of them.
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

/// The nanoseconds of the digits behind the point, to the nanosecond those of Go: digits are taken while they fit into 63
/// bits, and multiplied as floating-point numbers. A third of an hour written with nineteen digits is 20 minutes.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the rounding is that of Go; the product is less than one unit, 3.6e12"
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

/// A number of digits only; an empty one is zero, one beyond 64 bits is none.
fn digits(text: &str) -> Option<u128> {
    if text.is_empty() { Some(0) } else { text.parse::<u64>().ok().map(u128::from) }
}
