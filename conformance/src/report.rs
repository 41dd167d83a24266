//! Results, for people and for programs.

use std::fmt;

use serde_json::{Value, json};

use crate::check::Failure;

/// How one case ended.
#[derive(Debug, Clone)]
pub enum Verdict {
    /// Every check held.
    Passed,
    /// A check failed.
    Failed(Failure),
    /// The server lacks what the case needs; the text says what.
    NotApplicable(String),
}

/// One case and its verdict.
#[derive(Debug, Clone)]
pub struct CaseResult {
    /// The area, first part of the id.
    pub area: String,
    /// `area/short-name-of-the-rule`, with `@custom` or `@builtin` where the rule is checked on both.
    pub id: String,
    /// The rule in words.
    pub rule: String,
    /// How long the case took.
    pub millis: u64,
    /// How it ended.
    pub verdict: Verdict,
}

/// A whole run. `Display` prints failures, what did not apply, and the table area by area.
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
    /// The failed cases with what failed.
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

    /// Area, passed, failed, not applicable; in order of first appearance.
    fn table(&self) -> Vec<(String, [usize; 3])> {
        let mut rows: Vec<(String, [usize; 3])> = Vec::new();
        for result in &self.results {
            let index = rows.iter().position(|row| row.0 == result.area).unwrap_or_else(|| {
                rows.push((result.area.clone(), [0; 3]));
                rows.len() - 1
            });
            rows[index].1[column(&result.verdict)] += 1;
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
        for (area, counts) in self.table() {
            writeln!(f, "| {area} | {} | {} | {} |", counts[0], counts[1], counts[2])?;
            (0..3).for_each(|i| sum[i] += counts[i]);
        }
        writeln!(f, "| all | {} | {} | {} |", sum[0], sum[1], sum[2])
    }
}

fn column(verdict: &Verdict) -> usize {
    match verdict {
        Verdict::Passed => 0,
        Verdict::Failed(_) => 1,
        Verdict::NotApplicable(_) => 2,
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
