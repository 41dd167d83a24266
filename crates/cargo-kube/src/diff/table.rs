//! The table of all rules.

use super::rule::Rule;
use super::{definition, limit, schema};

/// All rules: those about definitions and versions, then those about schemas.
pub fn rules() -> impl Iterator<Item = &'static Rule> + Clone {
    definition::RULES.iter().chain(schema::RULES).chain(limit::RULES)
}
