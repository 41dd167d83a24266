//! One complaint, and how it was noticed.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How a fault was noticed. Its text is what a report has in brackets: `left over`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Oracle {
    /// After a step, the state is not the one of the reference.
    EndState,
    /// An object is left that the reference does not have.
    LeftOver,
    /// An object is still being deleted.
    Stuck,
    /// An external system has another state.
    External,
    /// An object was created or deleted more often.
    Counts,
    /// A random value, such as a password, was generated again.
    Regenerated,
    /// The operator writes without a cause.
    FixedPoint,
    /// A restart writes although nothing is to do.
    Restart,
    /// The operator has removed what another writer wrote.
    LostUpdate,
    /// The operator writes while another process leads.
    TwoLeaders,
    /// The operator panicked.
    Panic,
    /// The operator ended although no fault came.
    Ended,
    /// The service account of the operator may not do what it does.
    Forbidden,
    /// A condition of the user did not hold.
    Invariant,
    /// A status is of an older generation.
    StaleStatus,
    /// The workload itself failed.
    Workload,
}

impl Oracle {
    /// What to look for in the operator, where that does not depend on the fault.
    pub(crate) fn hint(self) -> Option<&'static str> {
        match self {
            Self::Forbidden => Some(
                "its role lacks that: a manager has what its controllers watch, and what `writes` and `permissions` add",
            ),
            Self::LeftOver => Some(
                "children need an owner reference, and other systems a finalizer of their owner that cleans up",
            ),
            Self::Ended => {
                Some("a cluster starts the program again, later each time: return errors to be repeated")
            }
            _ => None,
        }
    }
}

impl fmt::Display for Oracle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::EndState => "end state",
            Self::LeftOver => "left over",
            Self::Stuck => "stuck",
            Self::External => "external",
            Self::Counts => "counts",
            Self::Regenerated => "regenerated",
            Self::FixedPoint => "fixed point",
            Self::Restart => "restart",
            Self::LostUpdate => "lost update",
            Self::TwoLeaders => "two leaders",
            Self::Panic => "panic",
            Self::Ended => "ended",
            Self::Forbidden => "forbidden",
            Self::Invariant => "invariant",
            Self::StaleStatus => "stale status",
            Self::Workload => "workload",
        })
    }
}

/// What is wrong, and how that was noticed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Finding {
    oracle: Oracle,
    pub(crate) what: String,
}

impl Finding {
    pub(crate) fn new(oracle: Oracle, what: impl Into<String>) -> Self {
        Self { oracle, what: what.into() }
    }

    /// How it was noticed.
    pub fn oracle(&self) -> Oracle {
        self.oracle
    }

    /// What is wrong, in one line.
    pub fn what(&self) -> &str {
        &self.what
    }

    /// What other findings of the same cause share: the finding without numbers.
    pub(crate) fn cause(&self) -> (Oracle, String) {
        (self.oracle, self.what.chars().filter(|letter| !letter.is_ascii_digit()).collect())
    }
}

impl fmt::Display for Finding {
    /// `[left over] after step 3, configmaps a is left over`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}] {}", self.oracle, self.what)
    }
}
