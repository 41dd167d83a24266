//! The texts of quantities: a number with a suffix.

use std::fmt;

/// Billionths per unit: the smallest step of a quantity.
pub(super) const NANO: i128 = 1_000_000_000;
/// The largest amount, in billionths: 10^27 units.
pub(super) const LARGEST: i128 = 10_i128.pow(36);

/// The suffixes with which a quantity is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// `m`, `k`, `M`.
    Decimal,
    /// `Ki`, `Mi`, `Gi`.
    Binary,
    /// `e3`, `e6`.
    Exponent,
}

/// A text that is no quantity. `{}` names it, and says what is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is no quantity: {problem}")]
pub struct ParseQuantityError {
    text: String,
    problem: Problem,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
enum Problem {
    #[error("expected a number such as 1 or 0.5, with a suffix if need be")]
    Number,
    #[error(
        "expected one of the suffixes n, u, m, k, M, G, T, P, E, Ki, Mi, Gi, Ti, Pi, Ei, or an exponent such as e3"
    )]
    Suffix,
    #[error("it is larger than 10^27")]
    TooLarge,
}

const BINARY: [&str; 6] = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
const DECIMAL: [(&str, i32); 10] =
    [("n", -9), ("u", -6), ("m", -3), ("", 0), ("k", 3), ("M", 6), ("G", 9), ("T", 12), ("P", 15), ("E", 18)];

/// The most digits that are read of a decimal number: more are beyond the largest quantity, or below the smallest step.
const DIGITS: usize = 37;
/// The most digits that are read of the fraction of a binary number.
const BINARY_DIGITS: usize = 19;

/// A number without its sign and suffix.
#[derive(Clone, Copy)]
struct Number<'a> {
    whole: &'a str,
    fraction: &'a str,
}

/// The amount in billionths.
pub(super) fn parse(text: &str) -> Result<(i128, Format), ParseQuantityError> {
    let error = |problem| ParseQuantityError { text: text.to_owned(), problem };
    let (is_negative, rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
    let (number, suffix) = rest.split_at(end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() || fraction.contains('.') {
        return Err(error(Problem::Number));
    }
    let number = Number { whole: whole.trim_start_matches('0'), fraction };
    let (amount, format) = match BINARY.iter().position(|known| *known == suffix) {
        Some(at) => {
            let amount = binary(number, 1 << (10 * (at + 1)));
            // Less than one unit is printed as a decimal.
            (Some(amount), if amount < NANO { Format::Decimal } else { Format::Binary })
        }
        None => {
            let (power, format) = power(suffix).ok_or_else(|| error(Problem::Suffix))?;
            (decimal(number, power), format)
        }
    };
    let amount = amount.filter(|amount| *amount <= LARGEST).ok_or_else(|| error(Problem::TooLarge))?;
    Ok((if is_negative { -amount } else { amount }, format))
}

/// The power of ten of a decimal suffix.
fn power(suffix: &str) -> Option<(i64, Format)> {
    if let Some((_, power)) = DECIMAL.iter().find(|(known, _)| *known == suffix) {
        return Some((i64::from(*power), Format::Decimal));
    }
    let exponent: i32 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
    Some((i64::from(exponent), Format::Exponent))
}

/// A number times a power of ten, in billionths, rounded up. `None` if it is too large.
fn decimal(number: Number<'_>, power: i64) -> Option<i128> {
    let digits = format!("{}{}", number.whole, number.fraction);
    let digits = digits.trim_start_matches('0');
    if digits.is_empty() {
        return Some(0);
    }
    let (read, dropped) = digits.split_at(digits.len().min(DIGITS));
    let mantissa: i128 = read.parse().ok()?;
    let power = power + 9 + i64::try_from(dropped.len()).ok()? - i64::try_from(number.fraction.len()).ok()?;
    let has_rest = dropped.contains(|c| c != '0');
    match u32::try_from(power) {
        // What was dropped is whole billionths: the number is larger than the largest.
        Ok(power) => 10_i128.checked_pow(power)?.checked_mul(mantissa),
        Err(_) => Some(match u32::try_from(-power).ok().and_then(|power| 10_i128.checked_pow(power)) {
            Some(divisor) => mantissa / divisor + i128::from(mantissa % divisor != 0 || has_rest),
            None => 1,
        }),
    }
}

/// A number times a power of two, in billionths, rounded up, at most 2^63 - 1 units.
fn binary(number: Number<'_>, multiplier: i128) -> i128 {
    const LIMIT: i128 = i64::MAX as i128 * NANO;
    let (read, dropped) = number.fraction.split_at(number.fraction.len().min(BINARY_DIGITS));
    let whole: Option<i64> = if number.whole.is_empty() { Some(0) } else { number.whole.parse().ok() };
    let (Some(whole), Ok(fraction)) = (whole, format!("0{read}").parse::<i128>()) else { return LIMIT };
    let divisor = 10_i128.pow(u32::try_from(read.len().saturating_sub(9)).unwrap_or(0));
    let factor = 10_i128.pow(u32::try_from(9_usize.saturating_sub(read.len())).unwrap_or(0));
    let parts = fraction * multiplier * factor;
    let has_rest = parts % divisor != 0 || dropped.contains(|c| c != '0');
    // Units first: with billionths, the product could be too large.
    match i128::from(whole) * multiplier {
        units @ 0..=0x7fff_ffff_ffff_ffff => {
            (units * NANO + parts / divisor + i128::from(has_rest)).min(LIMIT)
        }
        _ => LIMIT,
    }
}

/// Writes the canonical form.
pub(super) fn write(f: &mut fmt::Formatter<'_>, nano: i128, format: Format) -> fmt::Result {
    if nano == 0 {
        return f.write_str("0");
    }
    // Numbers below 1024 have no binary suffix, and fractions cannot have one.
    if format == Format::Binary && nano % NANO == 0 && nano.abs() >= 1024 * NANO {
        let (mut number, mut suffix) = (nano / NANO, "");
        for larger in BINARY {
            if number % 1024 != 0 {
                break;
            }
            (number, suffix) = (number / 1024, larger);
        }
        return write!(f, "{number}{suffix}");
    }
    let (mut number, mut at) = (nano, 0);
    while number % 1000 == 0 && at + 1 < DECIMAL.len() {
        (number, at) = (number / 1000, at + 1);
    }
    match (format, DECIMAL[at]) {
        (Format::Exponent, (_, power)) if power != 0 => write!(f, "{number}e{power}"),
        (_, (suffix, _)) => write!(f, "{number}{suffix}"),
    }
}
