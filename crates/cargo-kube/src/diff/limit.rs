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
        let of = |schema: &JSONSchemaProps| Bound::new(schema.minimum, schema.exclusive_minimum);
        tighter("the minimum", of(old), of(new), |old, new| {
            new.value > old.value || (new.value == old.value && new.is_exclusive && !old.is_exclusive)
        })
    }),
    rule("maximum-lowered", LARGER, |Pair { old, new }| {
        let of = |schema: &JSONSchemaProps| Bound::new(schema.maximum, schema.exclusive_maximum);
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
        // A multiple of 10 is one of 5 too.
        tighter("the factor", old.multiple_of, new.multiple_of, |old, new| old % new != 0.0)
    }),
    rule("pattern-changed", "texts that do not match are refused", |Pair { old, new }| {
        found(changed("the pattern", old.pattern.as_deref(), new.pattern.as_deref()))
    }),
    rule("format-changed", "values of another format are refused", |Pair { old, new }| {
        found(changed("the format", old.format.as_deref(), new.format.as_deref()))
    }),
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
    fn new(value: Option<f64>, is_exclusive: Option<bool>) -> Option<Self> {
        Some(Self { value: value?, is_exclusive: is_exclusive == Some(true) })
    }
}

impl Display for Bound {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{}", self.value, if self.is_exclusive { " (exclusive)" } else { "" })
    }
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
