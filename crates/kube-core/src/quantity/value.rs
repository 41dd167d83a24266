//! The quantity type: billionths of a unit, and the suffixes with which it is printed.

use std::{cmp::Ordering, fmt, hash, str::FromStr};

use k8s_openapi::apimachinery::pkg::api::resource;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::syntax::{self, Format, LARGEST, NANO, ParseQuantityError};

/// An amount of a resource, such as `100m`, `1.5Gi` or `2e3`, as a number.
///
/// Objects have it as a [text](resource::Quantity), which this type is made from and becomes. Arithmetic is exact, in steps of a billionth
/// of a unit; smaller parts of a text are rounded away from zero. `Display` is the canonical form: no fraction, the largest suffix that
/// leaves a whole number, of the kind that the text had. Two quantities are equal if their amounts are: `1Ki` and `1024`.
///
/// The rules are those of [apimachinery](https://pkg.go.dev/k8s.io/apimachinery/pkg/api/resource#Quantity), from which a table of a
/// thousand quantities and sums was recorded, with three differences: amounts of more than 10^27 units are an error; so is a text without a
/// digit, such as `+`; and from 1000 `E` on the suffix is not lost. Binary amounts are limited to 2^63 - 1 units, as there.
///
/// ```
/// use k8s_openapi::apimachinery::pkg::api::resource;
/// use kube_core::Quantity;
///
/// let request: Quantity = "1.5Gi".parse()?;
/// assert_eq!(request.to_string(), "1536Mi");
/// assert!(request > "1500M".parse()? && request == "1536Mi".parse()?);
/// let sum = request.checked_add("512Mi".parse()?).ok_or("too large")?;
/// assert_eq!(resource::Quantity::from(sum).0, "2Gi");
/// let cpu = Quantity::try_from(&resource::Quantity("250m".into()))?;
/// assert_eq!((cpu.milli_value(), cpu.value()), (Some(250), Some(1)));
/// assert_eq!(Quantity::from(3).to_string(), "3");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy)]
pub struct Quantity {
    /// The amount in billionths, at most [`LARGEST`].
    pub(super) nano: i128,
    pub(super) format: Format,
}

impl Quantity {
    /// Nothing.
    pub const ZERO: Self = Self { nano: 0, format: Format::Decimal };

    /// Whether it is nothing.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        self.nano == 0
    }

    /// Whether it is below zero.
    #[must_use]
    pub fn is_negative(&self) -> bool {
        self.nano < 0
    }

    /// In whole units, rounded away from zero: `100m` is 1. `None` if that is no `i64`.
    #[must_use]
    pub fn value(&self) -> Option<i64> {
        self.in_steps_of(NANO)
    }

    /// In thousandths, rounded away from zero: as CPU time is counted. `None` if that is no `i64`.
    #[must_use]
    pub fn milli_value(&self) -> Option<i64> {
        self.in_steps_of(NANO / 1000)
    }

    /// As a floating-point number of units, for ratios and metrics. Not exact.
    #[must_use]
    pub fn as_f64(&self) -> f64 {
        self.nano as f64 / NANO as f64
    }

    /// The sum, with the suffixes of this quantity, or of the other one if this is zero. `None` beyond 10^27 units.
    #[must_use]
    pub fn checked_add(self, other: Self) -> Option<Self> {
        self.with_sum(self.nano + other.nano, other)
    }

    /// The difference, with suffixes as for [`checked_add`](Self::checked_add). `None` beyond 10^27 units.
    #[must_use]
    pub fn checked_sub(self, other: Self) -> Option<Self> {
        self.with_sum(self.nano - other.nano, other)
    }

    fn with_sum(self, nano: i128, other: Self) -> Option<Self> {
        let format = if self.is_zero() { other.format } else { self.format };
        (nano.abs() <= LARGEST).then_some(Self { nano, format })
    }

    fn in_steps_of(&self, step: i128) -> Option<i64> {
        let away_from_zero = if self.nano % step == 0 { 0 } else { self.nano.signum() };
        i64::try_from(self.nano / step + away_from_zero).ok()
    }
}

impl Default for Quantity {
    fn default() -> Self {
        Self::ZERO
    }
}

impl fmt::Debug for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Quantity {
    /// The canonical form.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        syntax::write(f, self.nano, self.format)
    }
}

impl FromStr for Quantity {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (nano, format) = syntax::parse(text)?;
        Ok(Self { nano, format })
    }
}

impl From<i64> for Quantity {
    fn from(units: i64) -> Self {
        Self { nano: i128::from(units) * NANO, ..Self::ZERO }
    }
}

impl TryFrom<&resource::Quantity> for Quantity {
    type Error = ParseQuantityError;

    fn try_from(text: &resource::Quantity) -> Result<Self, Self::Error> {
        text.0.trim().parse()
    }
}

impl From<Quantity> for resource::Quantity {
    fn from(quantity: Quantity) -> Self {
        Self(quantity.to_string())
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.nano == other.nano
    }
}

impl Eq for Quantity {}

impl hash::Hash for Quantity {
    fn hash<H: hash::Hasher>(&self, state: &mut H) {
        self.nano.hash(state);
    }
}

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

impl Serialize for Quantity {
    /// The canonical form, as a string.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Quantity {
    /// A string, or a number, as servers accept both.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Visitor)
    }
}

struct Visitor;

impl de::Visitor<'_> for Visitor {
    type Value = Quantity;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a quantity such as \"100m\", \"1.5Gi\" or 2")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Quantity, E> {
        text.trim().parse().map_err(E::custom)
    }

    fn visit_i64<E: de::Error>(self, units: i64) -> Result<Quantity, E> {
        Ok(Quantity::from(units))
    }

    fn visit_u64<E: de::Error>(self, units: u64) -> Result<Quantity, E> {
        units.to_string().parse().map_err(E::custom)
    }

    fn visit_f64<E: de::Error>(self, units: f64) -> Result<Quantity, E> {
        units.to_string().parse().map_err(E::custom)
    }
}
