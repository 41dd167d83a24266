//! [`Verdict`]: what a new definition means for one object.

use std::fmt;

use serde::Serialize;

/// What a new definition means for one object. `{}` is one line with all of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Verdict {
    /// The name of the definition, such as `pages.example.com`.
    pub definition: String,
    /// The namespace; `None` for a kind without namespaces.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The name.
    pub name: String,
    /// What would happen.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// Fields that the new definition lacks, such as `.spec.color`, whatever the outcome: the next write that is accepted drops them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<String>,
}

/// What would happen to an object.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "outcome", content = "message", rename_all = "camelCase")]
pub enum Outcome {
    /// It is valid.
    Accepted,
    /// The server drops these fields, such as `.spec.color`, at the next write.
    Lost(Vec<String>),
    /// The server accepts updates as long as they do not change the invalid values. The message is that for a new object.
    Tolerated(String),
    /// The server refuses an update that changes nothing else, or that changes valid values, with this message.
    Refused(String),
}

impl Outcome {
    /// Whether updates are refused.
    #[must_use]
    pub fn is_refused(&self) -> bool {
        matches!(self, Self::Refused(_))
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let namespace =
            self.namespace.as_deref().map(|namespace| format!("{namespace}/")).unwrap_or_default();
        write!(f, "{}: {namespace}{}: ", self.definition, self.name)?;
        match &self.outcome {
            Outcome::Accepted => f.write_str("accepted"),
            Outcome::Lost(fields) => write!(f, "loses {}", fields.join(", ")),
            Outcome::Tolerated(message) => {
                if !self.lost.is_empty() {
                    write!(f, "loses {}, ", self.lost.join(", "))?;
                }
                write!(f, "tolerated until an invalid value is changed: {message}")
            }
            Outcome::Refused(message) => write!(f, "refused: {message}"),
        }
    }
}
