//! The report for programs.

use serde_json::Value;

use super::Report;

impl Report {
    /// The report as JSON: why a part ended early (`broken`), what is wrong without a fault (`reference`), the plans that broke the
    /// operator (`failures`) with their findings and timelines, and what was not tried. The same for the same operator, but for `time`.
    pub fn to_json(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    /// Reads what another process has written.
    pub(crate) fn from_json(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }
}
