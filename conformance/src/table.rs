//! The table of results by area and server, in a Markdown file.

use std::collections::BTreeMap;

use crate::report::{Report, Verdict};

const BEGIN: &str = "<!-- conformance table: written by the suite, see CONTRIBUTING.md -->\n";
const END: &str = "<!-- end of the conformance table -->";

/// Cells by area and column; areas in the order of the file, then in running order.
struct Table {
    columns: Vec<String>,
    areas: Vec<String>,
    cells: BTreeMap<(String, String), String>,
}

/// `markdown` with the column of one server updated from `report`.
///
/// When the file has no valid table.
pub fn with_column(markdown: &str, column: &str, report: &Report) -> Result<String, String> {
    let missing = || format!("no table between {:?} and {END:?}", BEGIN.trim_end());
    let (before, rest) = markdown.split_once(BEGIN).ok_or_else(missing)?;
    let (table, after) = rest.split_once(END).ok_or_else(missing)?;
    let mut table = Table::read(table)?;
    table.fill(column, report);
    Ok(format!("{before}{BEGIN}{}{END}{after}", table.write()))
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

    fn fill(&mut self, column: &str, report: &Report) {
        if !self.columns.iter().any(|known| known == column) {
            self.columns.push(column.into());
        }
        self.cells.retain(|(_, known), _| known != column);
        let mut counts: BTreeMap<&str, [usize; 3]> = BTreeMap::new();
        // What the embedded server does not check has a table of its own.
        for result in report.results.iter().filter(|result| !result.unchecked) {
            if !self.areas.contains(&result.area) {
                self.areas.push(result.area.clone());
            }
            let at = match result.verdict {
                Verdict::Passed => 0,
                Verdict::Failed(_) => 1,
                Verdict::NotApplicable(_) => 2,
            };
            counts.entry(&result.area).or_default()[at] += 1;
        }
        for (area, counts) in counts {
            self.cells.insert((area.into(), column.into()), cell(counts));
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

fn cell(counts: [usize; 3]) -> String {
    match counts {
        [passed, 0, 0] => passed.to_string(),
        [passed, failed, lacking] => format!("{passed} / {failed} / {lacking}"),
    }
}

fn counts_of(cell: &str) -> [usize; 3] {
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
        Report { version: (1, 36), seconds: 1.0, results: verdicts.iter().map(result).collect() }
    }

    #[test]
    fn columns_are_written_side_by_side() {
        let empty = format!("# Title\n{BEGIN}{END}\nrest\n");
        let lacking = || Verdict::NotApplicable("no".into());
        let one = with_column(&empty, "core", &report(&[("a", Verdict::Passed), ("b", lacking())])).unwrap();
        let two =
            with_column(&one, "ours", &report(&[("b", Verdict::Passed), ("c", Verdict::Passed)])).unwrap();
        let expected = "| area | core | ours |\n|---|---:|---:|\n| a | 1 |  |\n| b | 0 / 0 / 1 | 1 |\n| c |  | 1 |\n| all | 1 / 0 / 1 | 2 |\n";
        assert_eq!(two, format!("# Title\n{BEGIN}{expected}{END}\nrest\n"));
        let same =
            with_column(&two, "ours", &report(&[("b", Verdict::Passed), ("c", Verdict::Passed)])).unwrap();
        assert_eq!(same, two);
        assert!(with_column("no table", "x", &report(&[])).is_err());
    }
}
