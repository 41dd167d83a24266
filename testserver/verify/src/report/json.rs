//! The report for programs.

use serde_json::{Value, json};

use super::{Failure, Report};

impl Report {
    /// The report as JSON: `findings` with their plans, and what was not tried. The same for the same operator, but for `seconds`.
    pub fn to_json(&self) -> Value {
        let reference: Vec<_> = self.reference.iter().map(|finding| json!(finding)).collect();
        json!({
            "ok": self.is_ok(),
            "tried": self.tried,
            "seconds": self.time.as_secs_f64(),
            "reference": reference,
            "failures": self.failures.iter().map(failure).collect::<Vec<_>>(),
            "unusedAllows": self.unused_allows.iter().map(|(pattern, _)| pattern).collect::<Vec<_>>(),
            "unreached": self.unreached.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "notCovered": self.uncovered,
            "leftOut": self.left_out,
        })
    }
}

fn failure(failure: &Failure) -> Value {
    let families: Vec<_> = failure.plan.families().iter().map(|family| family.name()).collect();
    json!({
        "plan": failure.plan.to_string(),
        "families": families,
        "repeats": failure.repeats,
        "findings": failure.findings,
    })
}
