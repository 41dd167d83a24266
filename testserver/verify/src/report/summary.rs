//! The result of all plans.

use std::{collections::BTreeMap, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{
    family::{Family, Likelihood},
    finding::{Finding, Oracle},
    outcome::Edited,
    plan::Plan,
    trace::Line,
};

/// What a verification has found, and what it has tried.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// Why a part of the verification has ended early: a closure of the test has panicked, a process has left no report.
    pub(crate) broken: Vec<String>,
    /// What is wrong without a fault.
    pub(crate) reference: Vec<Finding>,
    /// The last lines of the run without faults, if that ended too early.
    pub(crate) ended_with: Vec<Line>,
    pub(crate) failures: Vec<Failure>,
    /// Patterns of `allow` that covered nothing, with their reasons.
    pub(crate) unused_allows: Vec<(String, String)>,
    /// Whether all plans of the operator were tried, so that an unused pattern is an error.
    pub(crate) is_whole: bool,
    pub(crate) tried: usize,
    /// Plans whose fault did not come.
    pub(crate) unreached: Vec<Plan>,
    /// Plans for which the time was not enough.
    pub(crate) left_out: usize,
    /// Plans beyond the most of their family.
    pub(crate) not_chosen: usize,
    /// Places beyond the third of their kind, and writes without effect.
    pub(crate) repeated: usize,
    pub(crate) without_effect: usize,
    /// Fields of which no other value can be derived from the schema.
    pub(crate) not_derived: usize,
    /// Extreme values that the limits of the schemas exclude, and values that the server has refused: nothing is to be found there.
    pub(crate) not_allowed: usize,
    pub(crate) refused: usize,
    /// Changes that the server did not let users take back.
    pub(crate) irreversible: usize,
    /// Fields of which another value has changed nothing: `spec.text of pages.example.com`.
    pub(crate) changes_nothing: Vec<String>,
    pub(crate) unrepeatable: Option<(String, String)>,
    /// What the workload never causes.
    pub(crate) uncovered: Vec<String>,
    pub(crate) time: Duration,
}

/// A plan that broke the operator.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Failure {
    pub(crate) plan: Plan,
    pub(crate) findings: Vec<Finding>,
    /// Whether a second run found the same.
    pub(crate) repeats: bool,
    pub(crate) lines: Vec<Line>,
    /// The first line after the fault that the reference does not have there.
    pub(crate) differs_at: Option<usize>,
}

/// Failures with one cause.
pub(super) struct Group<'r> {
    pub(super) finding: &'r Finding,
    pub(super) failures: Vec<&'r Failure>,
    pub(super) likelihood: Likelihood,
}

impl Report {
    /// Whether nothing is wrong, and no part has ended early.
    pub fn is_ok(&self) -> bool {
        self.broken.is_empty()
            && self.reference.is_empty()
            && self.failures.is_empty()
            && self.forgotten_allows().is_empty()
    }

    /// Whether all plans were tried.
    pub(crate) fn is_undisturbed(&self) -> bool {
        self.broken.is_empty() && self.left_out + self.not_chosen == 0
    }

    /// The patterns that are an error, because nothing is found that they cover.
    pub(super) fn forgotten_allows(&self) -> &[(String, String)] {
        if self.is_whole { &self.unused_allows } else { &[] }
    }

    /// Adds what another process has found, which had another part of the plans.
    pub(crate) fn merge(&mut self, other: Self) {
        // What has panicked without a fault did so in each part.
        let news = other.broken.into_iter().filter(|why| !self.broken.contains(why));
        let news: Vec<_> = news.collect();
        self.broken.extend(news);
        self.failures.extend(other.failures);
        self.tried += other.tried;
        self.unreached.extend(other.unreached);
        self.left_out += other.left_out;
        self.refused += other.refused;
        self.irreversible += other.irreversible;
        self.changes_nothing.extend(other.changes_nothing);
        let news = other.uncovered.into_iter().filter(|what| !self.uncovered.contains(what));
        let news: Vec<_> = news.collect();
        self.uncovered.extend(news);
        self.time = self.time.max(other.time);
        // Covered in one part is covered.
        self.unused_allows.retain(|allow| other.unused_allows.contains(allow));
    }

    /// Counts how an edit has ended.
    pub(crate) fn note_edit(&mut self, plan: &Plan, edited: Option<Edited>) {
        match (edited, plan.edit()) {
            (Some(Edited::Refused), _) => self.refused += 1,
            (Some(Edited::Irreversible), _) => self.irreversible += 1,
            (Some(Edited::ChangedNothing), Some(edit)) => {
                self.changes_nothing.push(format!("{} of {}", edit.path, edit.resource));
            }
            _ => {}
        }
    }

    /// What is wrong, each finding once with the plan that showed it; `no fault` for what is wrong without any.
    pub fn findings(&self) -> impl Iterator<Item = (String, &Finding)> {
        let reference = self.reference.iter().map(|finding| (Plan::default().to_string(), finding));
        let plans = self
            .failures
            .iter()
            .flat_map(|failure| failure.findings.iter().map(|finding| (failure.plan.to_string(), finding)));
        reference.chain(plans)
    }

    /// The families whose faults broke the operator.
    pub fn families(&self) -> Vec<Family> {
        let mut families: Vec<_> = self.failures.iter().flat_map(|failure| failure.plan.families()).collect();
        families.sort();
        families.dedup();
        families
    }

    /// How many plans of each family have found something, by what says most about the cause; without a family what is wrong without a
    /// fault.
    pub fn found(&self) -> BTreeMap<(Option<Family>, Oracle), usize> {
        let reference = self.reference.iter().map(|finding| (None, finding.oracle()));
        let plans = self.failures.iter().filter_map(|failure| {
            Some((failure.plan.families().first().copied(), failure.findings.first()?.oracle()))
        });
        let mut found = BTreeMap::new();
        reference.chain(plans).for_each(|what| *found.entry(what).or_default() += 1);
        found
    }

    /// Whether the fault of each plan came.
    pub(crate) fn reached_all(&self) -> bool {
        self.unreached.is_empty()
    }

    /// The number of plans that were tried.
    pub fn tried(&self) -> usize {
        self.tried
    }

    /// Failures by their cause, the likeliest first.
    pub(super) fn groups(&self) -> Vec<Group<'_>> {
        let mut groups: BTreeMap<_, Group<'_>> = BTreeMap::new();
        for failure in &self.failures {
            let Some(finding) = failure.findings.first() else { continue };
            let families = failure.plan.families();
            let likelihood =
                families.iter().map(|family| family.likelihood()).max().unwrap_or(Likelihood::Daily);
            let group = groups.entry(finding.cause()).or_insert_with(|| Group {
                finding,
                failures: Vec::new(),
                likelihood,
            });
            if likelihood < group.likelihood {
                (group.likelihood, group.finding) = (likelihood, finding);
                group.failures.insert(0, failure);
            } else {
                group.failures.push(failure);
            }
        }
        let mut groups: Vec<_> = groups.into_values().collect();
        groups.sort_by_key(|group| (group.likelihood, std::cmp::Reverse(group.failures.len())));
        groups
    }
}
