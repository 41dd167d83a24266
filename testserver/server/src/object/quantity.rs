//! Kubernetes quantities, such as `100m`, `1.5Gi` and `1e3`: exact arithmetic and the canonical text.

use std::{cmp::Ordering, fmt};

use serde_json::Value;

/// Billionths per unit: the smallest step of a quantity.
const NANO: i128 = 1_000_000_000;
/// The largest number of a quantity, as on genuine servers.
const LARGEST: i128 = i64::MAX as i128 * NANO;

/// The suffixes that a quantity is printed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    /// `m`, `k`, `M`.
    Decimal,
    /// `Ki`, `Mi`, `Gi`.
    Binary,
    /// `e3`, `e6`.
    Exponent,
}

/// An amount of a resource. Two quantities are equal when their amounts are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Quantity {
    /// The amount in billionths.
    nano: i128,
    format: Format,
}

const BINARY: [(&str, u32); 6] = [("Ki", 1), ("Mi", 2), ("Gi", 3), ("Ti", 4), ("Pi", 5), ("Ei", 6)];
const DECIMAL: [(&str, i32); 10] =
    [("n", -9), ("u", -6), ("m", -3), ("", 0), ("k", 3), ("M", 6), ("G", 9), ("T", 12), ("P", 15), ("E", 18)];

impl Quantity {
    pub(crate) const ZERO: Self = Self { nano: 0, format: Format::Decimal };

    /// A whole number.
    pub(crate) fn of(number: usize) -> Self {
        Self { nano: i128::try_from(number).unwrap_or(LARGEST).saturating_mul(NANO), ..Self::ZERO }
    }

    /// The quantity in a JSON string or number.
    pub(crate) fn read(value: &Value) -> Option<Self> {
        match value {
            Value::String(text) => Self::parse(text),
            Value::Number(number) => Self::parse(&number.to_string()),
            _ => None,
        }
    }

    /// Parses a quantity. Fractions below a billionth are rounded up, as on genuine servers.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (negative, rest) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, suffix) = rest.split_at(end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if whole.is_empty() && fraction.is_empty() || fraction.contains('.') {
            return None;
        }
        let (multiplier, exponent, format) = scale(suffix)?;
        let digits = format!("{whole}{fraction}");
        let significant = digits.trim_start_matches('0');
        // Larger numbers are beyond the largest quantity, whatever their suffix.
        let mantissa: i128 = if significant.is_empty() {
            0
        } else {
            significant.get(..28.min(significant.len()))?.parse().ok()?
        };
        let dropped = i32::try_from(significant.len().saturating_sub(28)).ok()?;
        let power = exponent + 9 + dropped - i32::try_from(fraction.len()).ok()?;
        let amount = scaled(mantissa.checked_mul(multiplier).unwrap_or(i128::MAX), power).min(LARGEST);
        Some(Self { nano: if negative { -amount } else { amount }, format })
    }

    pub(crate) fn is_zero(self) -> bool {
        self.nano == 0
    }

    pub(crate) fn is_negative(self) -> bool {
        self.nano < 0
    }

    /// Whether it is the largest number of a binary quantity, or would be larger.
    pub(super) fn is_largest(self) -> bool {
        self.nano.abs() >= LARGEST
    }

    /// Rounded up to thousandths.
    pub(super) fn rounded_to_milli(self) -> Self {
        const MILLI: i128 = NANO / 1000;
        let up = self.nano / MILLI + if self.nano % MILLI == 0 { 0 } else { self.nano.signum() };
        Self { nano: up * MILLI, ..self }
    }

    pub(crate) fn is_whole(self) -> bool {
        self.nano % NANO == 0
    }

    /// The sum, in the format of the first quantity that is not zero.
    pub(crate) fn plus(self, other: Self) -> Self {
        let format = if self.is_zero() { other.format } else { self.format };
        Self { nano: (self.nano + other.nano).min(LARGEST), format }
    }

    pub(crate) fn minus(self, other: Self) -> Self {
        let format = if self.is_zero() { other.format } else { self.format };
        Self { nano: self.nano - other.nano, format }
    }

    /// How many times larger this is than `other`.
    pub(crate) fn ratio(self, other: Self) -> f64 {
        // Rounding does not matter for a ratio.
        self.nano as f64 / other.nano as f64
    }
}

/// The factor of a suffix: a multiplier and a power of ten.
fn scale(suffix: &str) -> Option<(i128, i32, Format)> {
    if let Some((_, power)) = BINARY.iter().find(|(unit, _)| *unit == suffix) {
        return Some((1024_i128.pow(*power), 0, Format::Binary));
    }
    if let Some((_, power)) = DECIMAL.iter().find(|(unit, _)| *unit == suffix) {
        return Some((1, *power, Format::Decimal));
    }
    let exponent: i32 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
    Some((1, exponent.clamp(-100, 100), Format::Exponent))
}

/// `number * 10^power`, rounded up.
fn scaled(number: i128, power: i32) -> i128 {
    let factor = |power: u32| 10_i128.checked_pow(power);
    if number == 0 {
        return 0;
    }
    match u32::try_from(power) {
        Ok(power) => factor(power).and_then(|factor| number.checked_mul(factor)).unwrap_or(i128::MAX),
        Err(_) => factor(power.unsigned_abs())
            .map_or(1, |factor| number / factor + i128::from(number % factor != 0)),
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Numbers below 1024 have no binary suffix.
        if self.format == Format::Binary && self.is_whole() && self.nano.abs() >= 1024 * NANO {
            let (mut number, mut suffix) = (self.nano / NANO, "");
            for (larger, _) in BINARY {
                if number % 1024 != 0 {
                    break;
                }
                (number, suffix) = (number / 1024, larger);
            }
            return write!(f, "{number}{suffix}");
        }
        let (mut number, mut at) = (self.nano, 0);
        while number != 0 && number % 1000 == 0 && at + 1 < DECIMAL.len() {
            (number, at) = (number / 1000, at + 1);
        }
        if number == 0 {
            return f.write_str("0");
        }
        match (self.format, DECIMAL[at]) {
            (Format::Exponent, (_, power)) if power != 0 => write!(f, "{number}e{power}"),
            (_, (suffix, _)) => write!(f, "{number}{suffix}"),
        }
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.nano == other.nano
    }
}

impl Eq for Quantity {}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> Ordering {
        self.nano.cmp(&other.nano)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        Quantity::parse(text).map_or_else(|| "not a quantity".into(), |quantity| quantity.to_string())
    }

    /// What a genuine server answered to each.
    #[test]
    fn quantities_have_one_text() {
        for (text, canonical) in [
            ("0", "0"),
            ("1", "1"),
            ("1.5", "1500m"),
            ("1000m", "1"),
            (".5", "500m"),
            ("1000", "1k"),
            ("1024", "1024"),
            ("1024Ki", "1Mi"),
            ("1025Ki", "1025Ki"),
            ("1000Mi", "1000Mi"),
            ("0.5Gi", "512Mi"),
            ("0.5Ki", "512"),
            ("0.3Ki", "307200m"),
            ("0Gi", "0"),
            ("1e3", "1e3"),
            ("12e-1", "1200e-3"),
            ("1E", "1E"),
            ("-1", "-1"),
        ] {
            assert_eq!(shown(text), canonical, "{text}");
        }
        for (text, rounded) in [
            ("0.0000000001", "1n"),
            ("9223372036854775808", "9223372036854775807"),
            ("99999999999999999999999999999999999999999999E", "9223372036854775807"),
            ("0.00000000000000000000000000000000000000001", "1n"),
        ] {
            assert_eq!(shown(text), rounded, "{text}");
        }
        for text in ["", "-", ".", "1.2.3", "1X", "Gi", "1 Gi", "1e", "1ee3", "e3", "1٣"] {
            assert_eq!(shown(text), "not a quantity", "{text}");
        }
    }

    #[test]
    fn amounts_are_compared_and_added_exactly() {
        let of = |text: &str| Quantity::parse(text).unwrap();
        assert_eq!(of("0.1").plus(of("0.2")), of("300m"));
        assert!(of("1Gi") > of("1G") && of("1024Mi") == of("1Gi"));
        assert_eq!(
            Quantity::ZERO.plus(of("1Gi")).to_string(),
            "1Gi",
            "the format of the one that is not zero"
        );
        assert_eq!(of("1Gi").plus(of("1")).to_string(), "1073741825");
        assert_eq!(of("2Gi").minus(of("1Gi")).to_string(), "1Gi");
        assert!(of("1").minus(of("2")).is_negative());
        assert_eq!(format!("{:.6}", of("1").ratio(of("50m"))), "20.000000");
        assert_eq!(Quantity::of(3).to_string(), "3");
        assert_eq!(Quantity::read(&serde_json::json!(1.5)).unwrap().to_string(), "1500m");
    }
}
