//! Results, as text and as JSON.

use std::fmt;

use serde_json::{Value, json};

use crate::check::Failure;

/// The result of a case.
#[derive(Debug, Clone)]
pub enum Verdict {
    /// Every check held.
    Passed,
    /// A check failed.
    Failed(Failure),
    /// The server does not meet a requirement; the text says which.
    NotApplicable(String),
}

impl Verdict {
    /// The place among passed, failed, not applicable.
    pub(crate) fn column(&self) -> usize {
        match self {
            Self::Passed => 0,
            Self::Failed(_) => 1,
            Self::NotApplicable(_) => 2,
        }
    }
}

/// Passed, failed, not applicable.
pub(crate) type Counts = [usize; 3];

/// A case and its result.
#[derive(Debug, Clone)]
pub struct CaseResult {
    /// The area, first part of the id.
    pub area: String,
    /// `area/short-name-of-the-rule`, with `@custom` or `@builtin` if the rule is checked on both.
    pub id: String,
    /// The rule as text.
    pub rule: String,
    /// Whether the embedded server is known not to check the rule.
    pub unchecked: bool,
    /// The duration of the case.
    pub millis: u64,
    /// The result.
    pub verdict: Verdict,
}

/// A run. `Display` prints failures, cases that do not apply, and the table by area.
#[derive(Debug, Clone)]
pub struct Report {
    /// Major and minor version of the server.
    pub version: (u32, u32),
    /// Duration of the run.
    pub seconds: f64,
    /// Every case, in running order.
    pub results: Vec<CaseResult>,
}

impl Report {
    /// The failed cases and their failures.
    pub fn failures(&self) -> impl Iterator<Item = (&CaseResult, &Failure)> {
        self.results.iter().filter_map(|r| match &r.verdict {
            Verdict::Failed(failure) => Some((r, failure)),
            _ => None,
        })
    }

    /// Every result as JSON.
    pub fn to_json(&self) -> String {
        let results: Vec<Value> = self.results.iter().map(result_json).collect();
        let (major, minor) = self.version;
        let all = json!({"version": format!("{major}.{minor}"), "seconds": self.seconds, "results": results});
        format!("{all:#}\n")
    }

    /// The counts of each area, in running order, of these results.
    pub(crate) fn by_area(&self, counted: impl Fn(&CaseResult) -> bool) -> Vec<(String, Counts)> {
        let mut rows: Vec<(String, Counts)> = Vec::new();
        for result in self.results.iter().filter(|result| counted(result)) {
            let index = rows.iter().position(|row| row.0 == result.area).unwrap_or_else(|| {
                rows.push((result.area.clone(), [0; 3]));
                rows.len() - 1
            });
            rows[index].1[result.verdict.column()] += 1;
        }
        rows
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (result, failure) in self.failures() {
            writeln!(f, "FAILED {}: {}\n{failure}", result.id, result.rule)?;
        }
        for result in &self.results {
            if let Verdict::NotApplicable(why) = &result.verdict {
                writeln!(f, "not applicable {}: {why}", result.id)?;
            }
        }
        let (major, minor) = self.version;
        writeln!(f, "\nserver version {major}.{minor}, {:.1} s\n", self.seconds)?;
        writeln!(f, "| area | passed | failed | not applicable |\n|---|---:|---:|---:|")?;
        let mut sum = [0; 3];
        for (area, counts) in self.by_area(|_| true) {
            writeln!(f, "| {area} | {} | {} | {} |", counts[0], counts[1], counts[2])?;
            (0..3).for_each(|i| sum[i] += counts[i]);
        }
        writeln!(f, "| all | {} | {} | {} |", sum[0], sum[1], sum[2])
    }
}

fn result_json(result: &CaseResult) -> Value {
    let mut out = json!({"id": result.id, "area": result.area, "rule": result.rule, "millis": result.millis});
    match &result.verdict {
        Verdict::Passed => out["verdict"] = json!("passed"),
        Verdict::Failed(failure) => {
            out["verdict"] = json!("failed");
            out["failure"] = json!(failure);
        }
        Verdict::NotApplicable(why) => {
            out["verdict"] = json!("not applicable");
            out["why"] = json!(why);
        }
    }
    out
}
