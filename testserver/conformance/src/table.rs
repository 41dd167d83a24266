//! The table of results by area and server, in a Markdown file.

use std::collections::BTreeMap;

use crate::{
    genuine,
    report::{Counts, Report, Verdict},
    section::Section,
};

const SECTION: Section = Section {
    begin: "<!-- conformance table: written by the suite, see CONTRIBUTING.md -->\n",
    end: "<!-- end of the conformance table -->",
};

/// Cells by area and column; areas in the order of the file, then in running order.
struct Table {
    columns: Vec<String>,
    areas: Vec<String>,
    cells: BTreeMap<(String, String), String>,
}

/// `markdown` with the column of one server updated from `report`.
///
/// When the file has no valid table, or when other cases than expected apply to a genuine server.
pub fn with_column(markdown: &str, column: &str, report: &Report) -> Result<String, String> {
    check_applicable(column, report)?;
    // What the embedded server does not check has a table of its own.
    let counts = report.by_area(|result| !result.unchecked);
    SECTION.change(markdown, |current| {
        let mut table = Table::read(current)?;
        table.fill(column, &counts);
        Ok(table.write())
    })
}

/// Compares the cases that did not apply with those that are expected not to apply to a genuine server.
fn check_applicable(column: &str, report: &Report) -> Result<(), String> {
    let Some(expected) = genuine::not_applicable_to(column) else { return Ok(()) };
    let lacking = report.results.iter().filter(|result| matches!(result.verdict, Verdict::NotApplicable(_)));
    let actual: Vec<&str> = lacking.map(|result| result.id.as_str()).collect();
    let differs = |id: &&str| actual.contains(id) != expected.iter().any(|other| other == id);
    let ids = report.results.iter().map(|result| result.id.as_str());
    let wrong: Vec<&str> = ids.filter(differs).collect();
    if wrong.is_empty() {
        return Ok(());
    }
    Err(format!(
        "cases apply to {column} otherwise than testserver/conformance/src/capabilities.rs says: {wrong:?}"
    ))
}

impl Table {
    fn read(text: &str) -> Result<Self, String> {
        let cells = |line: &str| -> Vec<String> {
            line.trim().trim_matches('|').split('|').map(|cell| cell.trim().to_string()).collect()
        };
        let mut lines = text.lines().filter(|line| !line.trim().is_empty());
        let head = lines.next().map(cells).unwrap_or_else(|| vec!["area".into()]);
        let mut table = Self { columns: head[1..].to_vec(), areas: Vec::new(), cells: BTreeMap::new() };
        for line in lines.skip(1) {
            let row = cells(line);
            if row.len() != head.len() {
                return Err(format!(
                    "a row of {} cells in a table of {} columns: {line}",
                    row.len(),
                    head.len()
                ));
            }
            if row[0] == "all" {
                continue;
            }
            table.areas.push(row[0].clone());
            for (column, cell) in table.columns.iter().zip(&row[1..]) {
                table.cells.insert((row[0].clone(), column.clone()), cell.clone());
            }
        }
        Ok(table)
    }

    fn fill(&mut self, column: &str, counts: &[(String, Counts)]) {
        if !self.columns.iter().any(|other| other == column) {
            self.columns.push(column.into());
        }
        self.cells.retain(|(_, other), _| other != column);
        for (area, counts) in counts {
            if !self.areas.contains(area) {
                self.areas.push(area.clone());
            }
            self.cells.insert((area.clone(), column.into()), cell(*counts));
        }
        let cells = &self.cells;
        self.areas.retain(|area| self.columns.iter().any(|c| cells.contains_key(&(area.clone(), c.clone()))));
    }

    fn write(&self) -> String {
        let row = |first: &str, cells: Vec<String>| format!("| {first} | {} |\n", cells.join(" | "));
        let mut out = row("area", self.columns.clone());
        out.push_str(&format!("|---|{}\n", "---:|".repeat(self.columns.len())));
        for area in &self.areas {
            let cell = |column: &String| self.cells.get(&(area.clone(), column.clone())).cloned();
            out.push_str(&row(area, self.columns.iter().map(|c| cell(c).unwrap_or_default()).collect()));
        }
        let sum = |column: &String| {
            let counts = self.areas.iter().filter_map(|area| self.cells.get(&(area.clone(), column.clone())));
            cell(counts.map(|cell| counts_of(cell)).fold([0; 3], |sum, c| [0, 1, 2].map(|i| sum[i] + c[i])))
        };
        out.push_str(&row("all", self.columns.iter().map(sum).collect()));
        out
    }
}

fn cell(counts: Counts) -> String {
    match counts {
        [passed, 0, 0] => passed.to_string(),
        [passed, failed, lacking] => format!("{passed} / {failed} / {lacking}"),
    }
}

fn counts_of(cell: &str) -> Counts {
    let mut numbers = cell.split('/').map(|number| number.trim().parse().unwrap_or(0));
    [0; 3].map(|_: usize| numbers.next().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::CaseResult;

    fn report(verdicts: &[(&str, Verdict)]) -> Report {
        let result = |(area, verdict): &(&str, Verdict)| CaseResult {
            area: (*area).into(),
            id: format!("{area}/x"),
            rule: String::new(),
            unchecked: false,
            millis: 1,
            verdict: verdict.clone(),
        };
        Report { version: (1, 37), seconds: 1.0, results: verdicts.iter().map(result).collect() }
    }

    #[test]
    fn columns_are_written_side_by_side() {
        let Section { begin, end } = SECTION;
        let empty = format!("# Title\n{begin}{end}\nrest\n");
        let lacking = || Verdict::NotApplicable("no".into());
        let one = with_column(&empty, "one", &report(&[("a", Verdict::Passed), ("b", lacking())])).unwrap();
        let two =
            with_column(&one, "ours", &report(&[("b", Verdict::Passed), ("c", Verdict::Passed)])).unwrap();
        let expected = "| area | one | ours |\n|---|---:|---:|\n| a | 1 |  |\n| b | 0 / 0 / 1 | 1 |\n| c |  | 1 |\n| all | 1 / 0 / 1 | 2 |\n";
        assert_eq!(two, format!("# Title\n{begin}{expected}{end}\nrest\n"));
        let same =
            with_column(&two, "ours", &report(&[("b", Verdict::Passed), ("c", Verdict::Passed)])).unwrap();
        assert_eq!(same, two);
        assert!(with_column("no table", "x", &report(&[])).is_err());
    }
}
