//! Rules about limits of values: bounds, lengths, patterns, formats.

use std::fmt::Display;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::JSONSchemaProps;

use super::rule::{Breaks, Check, Finding, Pair, Rule};
use super::schema::{changed, found};

const LARGER: &str = "larger values are refused";
const SMALLER: &str = "smaller values are refused";
const LONGER: &str = "longer values are refused";
const SHORTER: &str = "shorter values are refused";

pub(super) const RULES: &[Rule] = &[
    rule("minimum-raised", SMALLER, |Pair { old, new }| {
        let of = |schema: &JSONSchemaProps| Bound::new(schema, schema.minimum, schema.exclusive_minimum);
        tighter("the minimum", of(old), of(new), |old, new| {
            new.value > old.value || (new.value == old.value && new.is_exclusive && !old.is_exclusive)
        })
    }),
    rule("maximum-lowered", LARGER, |Pair { old, new }| {
        let of = |schema: &JSONSchemaProps| Bound::new(schema, schema.maximum, schema.exclusive_maximum);
        tighter("the maximum", of(old), of(new), |old, new| {
            new.value < old.value || (new.value == old.value && new.is_exclusive && !old.is_exclusive)
        })
    }),
    rule("min-length-raised", SHORTER, |Pair { old, new }| {
        raised("the minimal length", old.min_length, new.min_length)
    }),
    rule("max-length-lowered", LONGER, |Pair { old, new }| {
        lowered("the maximal length", old.max_length, new.max_length)
    }),
    rule("min-items-raised", SHORTER, |Pair { old, new }| {
        raised("the minimal number of items", old.min_items, new.min_items)
    }),
    rule("max-items-lowered", LONGER, |Pair { old, new }| {
        lowered("the maximal number of items", old.max_items, new.max_items)
    }),
    rule("min-properties-raised", SMALLER, |Pair { old, new }| {
        raised("the minimal number of entries", old.min_properties, new.min_properties)
    }),
    rule("max-properties-lowered", LARGER, |Pair { old, new }| {
        lowered("the maximal number of entries", old.max_properties, new.max_properties)
    }),
    rule("multiple-of-changed", "other numbers are refused", |Pair { old, new }| {
        let is_integer = is_integer(old) && is_integer(new);
        let refuses = |old, new| refuses_multiples(is_integer, old, new);
        tighter("the factor", old.multiple_of, new.multiple_of, refuses)
    }),
    rule("pattern-changed", "texts that do not match are refused", |Pair { old, new }| {
        found(changed("the pattern", old.pattern.as_deref(), new.pattern.as_deref()))
    }),
    rule("format-changed", "values of another format are refused", |Pair { old, new }| {
        let [old_format, new_format] = [old, new].map(checked_format);
        let includes = matches!((old_format, new_format), (Some(old), Some(new)) if is_included(old, new));
        found(changed("the format", old_format, new_format).filter(|_| !includes))
    }),
    Rule::new(
        "format-widened",
        Breaks::Clients,
        "clients may read a value of a format that they do not know",
        Check::Schema(|Pair { old, new }| {
            // Of another type there may be any value.
            let [old, new] = [old, new].map(|schema| (schema.type_.as_deref(), checked_format(schema)));
            found(match (old, new) {
                ((old_type, Some(old)), (new_type, None)) if old_type == new_type => {
                    Some(format!("the format is none, was {old}"))
                }
                ((_, Some(old)), (_, Some(new))) if is_included(old, new) && !is_included(new, old) => {
                    changed("the format", Some(old), Some(new))
                }
                _ => None,
            })
        }),
    ),
];

const fn rule(
    name: &'static str,
    reason: &'static str,
    check: fn(Pair<'_, JSONSchemaProps>) -> Vec<Finding>,
) -> Rule {
    Rule::new(name, Breaks::ObjectsAndClients, reason, Check::Schema(check))
}

#[derive(Clone, Copy, Debug)]
struct Bound {
    value: f64,
    is_exclusive: bool,
}

impl Bound {
    /// A server compares whole numbers with the whole part of a bound.
    fn new(schema: &JSONSchemaProps, value: Option<f64>, is_exclusive: Option<bool>) -> Option<Self> {
        let value = if is_integer(schema) { value?.trunc() } else { value? };
        Some(Self { value, is_exclusive: is_exclusive == Some(true) })
    }
}

impl Display for Bound {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{}", self.value, if self.is_exclusive { " (exclusive)" } else { "" })
    }
}

fn is_integer(schema: &JSONSchemaProps) -> bool {
    schema.type_.as_deref() == Some("integer")
}

/// Whether a server refuses a multiple of `old` as none of `new`. It divides whole numbers by the whole part of the factor, and never
/// accepts one if that is 0; other numbers it divides up to an error of rounding.
fn refuses_multiples(is_integer: bool, old: f64, new: f64) -> bool {
    if is_integer && (old.fract() != 0.0 || new.fract() != 0.0) {
        // With a fraction, it accepts no integer at all.
        return old.fract() == 0.0;
    }
    let (whole_old, whole_new) = (old.trunc(), new.trunc());
    let of_whole = whole_old >= 1.0 && (whole_new < 1.0 || whole_old % whole_new != 0.0);
    let ratio = if new < 1.0 { old * (1.0 / new) } else { old / new };
    let of_others = old.fract() != 0.0 && (ratio - ratio.round()).abs() > ratio.abs() * 1e-9;
    of_whole || of_others
}

/// The format, if servers check it: they ignore others, with a warning.
fn checked_format(schema: &JSONSchemaProps) -> Option<&str> {
    let format = schema.format.as_deref()?;
    let is_checked = match schema.type_.as_deref() {
        Some("integer") => matches!(format, "int32" | "int64"),
        Some("number") => format == "float",
        _ => STRING_FORMATS.contains(&format),
    };
    is_checked.then_some(format)
}

const STRING_FORMATS: [&str; 26] = [
    "bsonobjectid",
    "byte",
    "cidr",
    "creditcard",
    "date",
    "date-time",
    "datetime",
    "duration",
    "email",
    "hexcolor",
    "hostname",
    "ipv4",
    "ipv6",
    "isbn",
    "isbn10",
    "isbn13",
    "k8s-long-name",
    "k8s-short-name",
    "mac",
    "rgbcolor",
    "ssn",
    "uri",
    "uuid",
    "uuid3",
    "uuid4",
    "uuid5",
];

/// Whether every value of the one format is one of the other.
fn is_included(old: &str, new: &str) -> bool {
    matches!(
        (old, new),
        ("int32", "int64")
            | ("date-time", "datetime")
            | ("datetime", "date-time")
            | ("isbn10" | "isbn13", "isbn")
            | ("uuid3" | "uuid4" | "uuid5", "uuid")
            | ("k8s-short-name", "k8s-long-name")
    )
}

fn raised(what: &str, old: Option<i64>, new: Option<i64>) -> Vec<Finding> {
    // Without a limit, nothing is shorter than 0.
    tighter(what, Some(old.unwrap_or(0)), new, |old, new| new > old)
}

fn lowered(what: &str, old: Option<i64>, new: Option<i64>) -> Vec<Finding> {
    tighter(what, old, new, |old, new| new < old)
}

/// A limit that is new, or tighter than the old one.
fn tighter<T: Copy + Display>(
    what: &str,
    old: Option<T>,
    new: Option<T>,
    is_tighter: impl Fn(T, T) -> bool,
) -> Vec<Finding> {
    found(match (old, new) {
        (None, Some(new)) => Some(format!("{what} is {new}, was not limited")),
        (Some(old), Some(new)) if is_tighter(old, new) => Some(format!("{what} is {new}, was {old}")),
        _ => None,
    })
}
