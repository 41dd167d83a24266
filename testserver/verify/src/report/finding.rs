//! One complaint.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::oracle::Oracle;

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

    pub(crate) fn oracle(&self) -> Oracle {
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
