//! [`Change`]: one finding of a comparison.

use std::fmt;

use serde::Serialize;

use super::rule::{Breaks, Finding, Rule};

/// A change that a rule found. `{}` is one line with all of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    rule: &'static str,
    breaks: Breaks,
    definition: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    path: String,
    change: String,
    reason: &'static str,
}

impl Change {
    pub(super) fn new(
        rule: &Rule,
        definition: &str,
        version: Option<&str>,
        path: &str,
        finding: Finding,
    ) -> Self {
        Self {
            rule: rule.name,
            breaks: rule.breaks,
            definition: definition.to_owned(),
            version: version.map(str::to_owned),
            path: format!("{path}{}", finding.below),
            change: finding.change,
            reason: rule.reason,
        }
    }

    /// The name of the [`Rule`], such as `field-removed`.
    #[must_use]
    pub fn rule(&self) -> &'static str {
        self.rule
    }

    /// Whom the change breaks.
    #[must_use]
    pub fn breaks(&self) -> Breaks {
        self.breaks
    }

    /// The name of the definition, such as `pages.example.com`.
    #[must_use]
    pub fn definition(&self) -> &str {
        &self.definition
    }

    /// The version whose schema was changed, such as `v1`, or two that were compared, `v1 -> v2`. `None` for a change outside of schemas.
    #[must_use]
    pub fn version(&self) -> Option<&str> {
        self.version.as_deref()
    }

    /// In a schema the field of the object, such as `.spec.rules[*].port`; `[*]` stands for the items of a list and the values of a map.
    /// Elsewhere the field of the definition, such as `spec.scope`.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// What was changed, such as `the maximum is 5, was 10`.
    #[must_use]
    pub fn change(&self) -> &str {
        &self.change
    }

    /// Why it breaks them.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        self.reason
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rule, breaks, definition, path, change, reason, .. } = self;
        write!(f, "{definition}: ")?;
        if let Some(version) = &self.version {
            write!(f, "{version}: ")?;
        }
        if !path.is_empty() {
            write!(f, "{path}: ")?;
        }
        write!(f, "{change}: {breaks}: {reason} ({rule})")
    }
}
