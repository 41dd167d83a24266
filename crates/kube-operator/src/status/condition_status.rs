//! [`ConditionStatus`]: `True`, `False` or `Unknown`.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

/// The status of a condition.
///
/// A `bool` or an `Option<bool>` becomes one; `None` is [`Unknown`](Self::Unknown).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ConditionStatus {
    /// The condition holds.
    True,
    /// The condition does not hold.
    False,
    /// The controller does not know.
    Unknown,
}

impl ConditionStatus {
    /// The text in the API: `True`, `False` or `Unknown`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
        }
    }

    /// The status of a condition of the API. A text that the API does not know is [`Unknown`](Self::Unknown).
    #[must_use]
    pub fn of(condition: &Condition) -> Self {
        match condition.status.as_str() {
            "True" => Self::True,
            "False" => Self::False,
            _ => Self::Unknown,
        }
    }
}

impl From<bool> for ConditionStatus {
    fn from(holds: bool) -> Self {
        if holds { Self::True } else { Self::False }
    }
}

impl From<Option<bool>> for ConditionStatus {
    fn from(holds: Option<bool>) -> Self {
        holds.map_or(Self::Unknown, Self::from)
    }
}
