//! The report for people.

use std::fmt::{self, Write};

use super::{Failure, Report, summary::Group};
use crate::trace::Line;

/// Lines of the timeline before the fault and after the first difference.
const BEFORE: usize = 6;
const AFTER: usize = 14;
/// Other plans of the same cause that are named.
const MOST_PLANS: usize = 5;

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for why in &self.broken {
            writeln!(f, "FAILED {why}\n")?;
        }
        for finding in &self.reference {
            writeln!(f, "FOUND without any fault: {finding}")?;
            if let Some(hint) = finding.oracle().hint() {
                writeln!(f, "  hint:   {hint}")?;
            }
            writeln!(f)?;
        }
        if !self.ended_with.is_empty() {
            self.ended_with.iter().try_for_each(|line| writeln!(f, "{}", shown(line)))?;
            writeln!(f)?;
        }
        for group in self.groups() {
            write_group(f, &group)?;
        }
        for (pattern, reason) in self.forgotten_allows() {
            writeln!(f, "UNUSED allow {pattern:?} ({reason}): nothing is found that it covers; remove it\n")?;
        }
        write_coverage(f, self)?;
        let seconds = self.time.as_secs_f64();
        let causes = self.groups().len() + self.reference.len();
        let result = match self.broken.len() {
            0 if self.is_ok() => "nothing found".to_owned(),
            0 => format!("{} found", count(causes, "cause")),
            parts => {
                let (causes, parts) = (count(causes, "cause"), count(parts, "part"));
                format!("{causes} found, and {parts} of the verification failed")
            }
        };
        write!(f, "{} tried in {seconds:.1} s: {result}", count(self.tried, "plan"))
    }
}

/// `1 plan`, `2 plans`.
pub(crate) fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

fn write_group(f: &mut fmt::Formatter<'_>, group: &Group<'_>) -> fmt::Result {
    let Some(first) = group.failures.first() else { return Ok(()) };
    let likelihood = format!("{:?}", group.likelihood).to_lowercase();
    writeln!(f, "FOUND {} ({likelihood}; {})", group.finding, count(group.failures.len(), "plan"))?;
    for finding in first.findings.iter().filter(|finding| *finding != group.finding) {
        writeln!(f, "  and {finding}")?;
    }
    writeln!(f, "  plan:   {}", first.plan)?;
    writeln!(f, "  repeat: cargo kube verify --plan '{}'", first.plan)?;
    writeln!(f, "  test:   .replay({:?})", first.plan.to_string())?;
    let of_family = first.plan.families().first().map(|family| family.hint());
    for hint in group.finding.oracle().hint().into_iter().chain(of_family) {
        writeln!(f, "  hint:   {hint}")?;
    }
    if !first.repeats {
        writeln!(
            f,
            "  A second run did not find the same. The operator does something that differs between runs: threads,"
        )?;
        writeln!(
            f,
            "  `spawn_blocking`, `select!` without `biased`, the order of a HashMap, the wall clock."
        )?;
    }
    f.write_str(&timeline(first))?;
    let others: Vec<_> =
        group.failures.iter().skip(1).take(MOST_PLANS).map(|failure| failure.plan.to_string()).collect();
    for other in &others {
        writeln!(f, "  also: {other}")?;
    }
    let more = group.failures.len().saturating_sub(1 + others.len());
    if more > 0 {
        writeln!(f, "  and {more} more")?;
    }
    writeln!(f)
}

/// What happened around the fault, up to the first difference from the reference and a little more.
fn timeline(failure: &Failure) -> String {
    let fault = failure.lines.iter().position(|line| line.text.starts_with("FAULT")).unwrap_or(0);
    let end = failure.differs_at.unwrap_or(fault).max(fault) + AFTER;
    let mut text = String::new();
    for (at, line) in failure.lines.iter().enumerate().take(end).skip(fault.saturating_sub(BEFORE)) {
        let mark = if failure.differs_at == Some(at) { "    ← first difference" } else { "" };
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{}{mark}", shown(line));
    }
    text
}

/// A line of a timeline, with the simulated seconds since its begin.
fn shown(line: &Line) -> String {
    format!("  {:>10.3} {}", line.at.as_secs_f64(), line.text)
}

/// What was not tried.
fn write_coverage(f: &mut fmt::Formatter<'_>, report: &Report) -> fmt::Result {
    if let Some((one, other)) = &report.unrepeatable {
        writeln!(f, "Two runs with the same seed differ: {one:?}, then {other:?}. Findings may not repeat.")?;
    }
    for what in &report.uncovered {
        writeln!(f, "not covered: {what}")?;
    }
    for field in &report.changes_nothing {
        writeln!(f, "changes nothing: {field}")?;
    }
    let (refused, derived, taken) =
        (report.refused + report.not_allowed, report.not_derived, report.irreversible);
    if refused + derived + taken > 0 {
        writeln!(
            f,
            "not tried: {refused} values that the schema refuses, {derived} fields without a derivable value, \
             {taken} changes that cannot be taken back"
        )?;
    }
    if !report.unreached.is_empty() {
        let plans: Vec<_> = report.unreached.iter().take(MOST_PLANS).map(ToString::to_string).collect();
        writeln!(
            f,
            "{} whose fault did not come, such as {}",
            count(report.unreached.len(), "plan"),
            plans.join("; ")
        )?;
    }
    if report.repeated + report.without_effect > 0 {
        let (repeated, idle) = (report.repeated, report.without_effect);
        writeln!(
            f,
            "not tried: {repeated} requests beyond the third of their kind, {idle} writes that changed nothing"
        )?;
    }
    if report.left_out > 0 {
        writeln!(f, "{} left out: the budget of time was used up", count(report.left_out, "plan"))?;
    }
    if report.not_chosen > 0 {
        let left_out = count(report.not_chosen, "plan");
        writeln!(
            f,
            "{left_out} left out, because the test says `per_family`: `cargo kube verify` tries the rest"
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_plan_is_no_plural() {
        let report = Report { left_out: 1, not_chosen: 2, tried: 1, ..Report::default() };
        let text = report.to_string();
        assert!(text.starts_with("1 plan left out: the budget"), "{text}");
        assert!(text.contains("\n2 plans left out, because"), "{text}");
        assert!(text.contains("\n1 plan tried in "), "{text}");
    }
}
