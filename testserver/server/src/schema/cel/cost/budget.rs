//! The limits of what rules may cost: of one, and of all of a schema.

use kube_cel::cel::common::ast::IdedExpr;
use serde_json::Value;

use super::{
    estimate::estimate,
    size::{MAX_REQUEST, Place, smallest_json},
};
use crate::schema::{ErrorList, cel::typing::Types};

/// Limit of one rule, over all its occurrences in an object.
const RULE_BUDGET: u64 = 10_000_000;
/// Limit of all rules of a schema.
const SCHEMA_BUDGET: u64 = 100_000_000;
/// The number of rules reported as contributing to a schema that costs too much.
const MAX_CONTRIBUTORS: usize = 4;
const HINT: &str = "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)";

/// The largest number of occurrences of a part of a schema in an object, if it is bounded.
#[derive(Clone, Copy)]
pub(in crate::schema::cel) struct Occurrences(Option<u64>);

impl Occurrences {
    pub(in crate::schema::cel) const ONE: Self = Self(Some(1));

    /// Of elements or values, of which each collection has at most `most`.
    pub(in crate::schema::cel) fn of_each(self, most: Option<u64>) -> Self {
        Self(self.0.and_then(|times| Some(times.saturating_mul(most?))))
    }

    /// Unbounded values occur as often as fits into a request.
    fn most(self, doc: &Value) -> u64 {
        self.0.unwrap_or_else(|| MAX_REQUEST / (smallest_json(doc) + 1))
    }
}

/// The estimated costs of all rules of a schema.
#[derive(Default)]
pub(in crate::schema::cel) struct Costs {
    /// Paths and costs.
    rules: Vec<(String, u64)>,
}

impl Costs {
    /// Adds the expression at the path `at`, a part of a rule of `doc`.
    pub(in crate::schema::cel) fn add(
        &mut self,
        at: &str,
        ast: &IdedExpr,
        types: &Types<'_>,
        doc: &Value,
        times: Occurrences,
    ) {
        let cost = estimate(ast, types, Place::root(doc));
        self.rules.push((at.to_owned(), cost.saturating_mul(times.most(doc))));
    }

    /// Refuses rules of the schema at the path `at` that cost too much.
    pub(in crate::schema::cel) fn errors(self, at: &str) -> ErrorList {
        let mut errors = ErrorList::default();
        let mut rules = self.rules;
        for (at, cost) in rules.iter().filter(|(_, cost)| *cost > RULE_BUDGET) {
            let factor = factor(*cost, RULE_BUDGET);
            let what = at.rsplit('.').next().unwrap_or_default();
            let why = format!("estimated {what} cost exceeds budget by factor of {factor} {HINT}");
            errors.forbidden(at.as_str(), &why);
        }
        let total = rules.iter().fold(0u64, |total, (_, cost)| total.saturating_add(*cost));
        if total > SCHEMA_BUDGET {
            rules.sort_by_key(|(_, cost)| std::cmp::Reverse(*cost));
            let large = rules.iter().filter(|(_, cost)| *cost >= SCHEMA_BUDGET / 100);
            for (at, _) in large.take(MAX_CONTRIBUTORS) {
                let why = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema";
                errors.forbidden(at.as_str(), why);
            }
            let why = format!(
                "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds budget by factor of {} {HINT}",
                factor(total, SCHEMA_BUDGET)
            );
            errors.forbidden(at, &why);
        }
        errors
    }
}

fn factor(cost: u64, budget: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "a ratio for people")]
    let factor = cost as f64 / budget as f64;
    match factor {
        _ if factor > 100.0 => "more than 100x".into(),
        // More digits, so that a small excess does not read as 1.0.
        _ if factor < 1.5 => format!("{factor:.6}x"),
        _ => format!("{factor:.1}x"),
    }
}
