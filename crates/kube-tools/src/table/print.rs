//! [`TablePrinter`]: a table as text, to the byte as `kubectl get` prints it.

use std::fmt;

use kube_core::ResourceExt;
use serde_json::Value;

use super::types::{Table, TableColumn, TableRow};

/// Prints a [`Table`] by `{}` as `kubectl get` does, with its options. There is no line break at the end, and no text at all without rows.
///
/// ```
/// use kube_tools::table::Table;
///
/// let table: Table = serde_json::from_value(serde_json::json!({
///     "columnDefinitions": [{ "name": "Name" }, { "name": "Ready" }, { "name": "Node", "priority": 1 }],
///     "rows": [{ "cells": ["web-0", "1/1", "worker"], "object": { "metadata": { "namespace": "shop", "labels": { "app": "web" } } } }],
/// }))?;
/// assert_eq!(table.to_string(), "NAME    READY\nweb-0   1/1");
/// assert_eq!(table.printer().wide().no_headers().to_string(), "web-0   1/1   worker");
/// assert_eq!(
///     table.printer().with_namespace().show_labels().to_string(),
///     "NAMESPACE   NAME    READY   LABELS\nshop        web-0   1/1     app=web",
/// );
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct TablePrinter<'a> {
    table: &'a Table,
    wide: bool,
    headers: bool,
    namespace: bool,
    labels: bool,
    label_columns: Vec<String>,
}

impl<'a> TablePrinter<'a> {
    fn new(table: &'a Table) -> Self {
        Self { table, wide: false, headers: true, namespace: false, labels: false, label_columns: Vec::new() }
    }

    /// All columns, as `-o wide`.
    #[must_use]
    pub fn wide(self) -> Self {
        Self { wide: true, ..self }
    }

    /// No line with the names of the columns, as `--no-headers`.
    #[must_use]
    pub fn no_headers(self) -> Self {
        Self { headers: false, ..self }
    }

    /// The namespace as the first column, as `--all-namespaces` of a namespaced kind.
    #[must_use]
    pub fn with_namespace(self) -> Self {
        Self { namespace: true, ..self }
    }

    /// All labels as the last column, as `--show-labels`.
    #[must_use]
    pub fn show_labels(self) -> Self {
        Self { labels: true, ..self }
    }

    /// A column for each of these labels, as `--label-columns`.
    #[must_use]
    pub fn label_columns<L: Into<String>>(self, labels: impl IntoIterator<Item = L>) -> Self {
        Self { label_columns: labels.into_iter().map(Into::into).collect(), ..self }
    }

    fn header(&self) -> Vec<String> {
        let own = self.table.columns.iter().filter(|column| self.shows(column));
        let label = |key: &String| key.rsplit('/').next().unwrap_or_default().to_uppercase();
        let mut line: Vec<_> = own.map(|column| column.name.to_uppercase()).collect();
        if self.namespace {
            line.insert(0, "NAMESPACE".to_owned());
        }
        line.extend(self.label_columns.iter().map(label));
        line.extend(self.labels.then(|| "LABELS".to_owned()));
        line
    }

    fn line(&self, row: &TableRow) -> Vec<String> {
        let labels: Vec<_> = row.object.iter().flat_map(ResourceExt::labels).collect();
        let value =
            |key: &String| labels.iter().find(|(label, _)| *label == key).map(|(_, value)| (*value).clone());
        let own = self.table.columns.iter().zip(&row.cells).filter(|(column, _)| self.shows(column));
        let mut line: Vec<_> = own.map(|(_, cell)| text_of(cell)).collect();
        if self.namespace {
            line.insert(0, row.object.as_ref().and_then(ResourceExt::namespace).unwrap_or_default());
        }
        line.extend(self.label_columns.iter().map(|key| value(key).unwrap_or_default()));
        line.extend(self.labels.then(|| match labels.is_empty() {
            true => "<none>".to_owned(),
            false => labels.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(","),
        }));
        line
    }

    fn shows(&self, column: &TableColumn) -> bool {
        self.wide || column.priority == 0
    }
}

/// As kubectl prints a cell: up to the first line break, with control characters of terminals escaped.
fn text_of(cell: &Value) -> String {
    let text = match cell {
        Value::Null => return String::new(),
        // Without the `.0` of whole floats.
        Value::Number(number) if number.is_f64() => number.as_f64().unwrap_or_default().to_string(),
        Value::String(text) => match text.find(['\n', '\r', '\u{c}']) {
            Some(at) => format!("{}...", &text[..at]),
            None => text.clone(),
        },
        other => other.to_string(),
    };
    // A tab would move the other cells.
    text.replace('\u{1b}', "^[").replace(['\t', '\u{b}'], " ")
}

/// Three spaces after the longest cell of a column, and at least six characters.
const PADDING: usize = 3;
const MIN_WIDTH: usize = 6;

impl fmt::Display for TablePrinter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.table.rows.is_empty() {
            return Ok(());
        }
        let header = self.headers.then(|| self.header());
        let lines: Vec<_> =
            header.into_iter().chain(self.table.rows.iter().map(|row| self.line(row))).collect();
        let mut widths = Vec::new();
        for line in &lines {
            // The last cell of a line is not padded.
            for (column, cell) in line.iter().enumerate().take(line.len().saturating_sub(1)) {
                if column == widths.len() {
                    widths.push(MIN_WIDTH);
                }
                widths[column] = widths[column].max(cell.chars().count() + PADDING);
            }
        }
        for (at, line) in lines.iter().enumerate() {
            if at > 0 {
                f.write_str("\n")?;
            }
            for (column, cell) in line.iter().enumerate() {
                match column + 1 == line.len() {
                    true => f.write_str(cell)?,
                    false => write!(f, "{cell:width$}", width = widths[column])?,
                }
            }
        }
        Ok(())
    }
}

impl Table {
    /// Prints the table with the options of `kubectl get`.
    pub fn printer(&self) -> TablePrinter<'_> {
        TablePrinter::new(self)
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.printer().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn table(columns: &[&str], rows: Value) -> Table {
        let columns: Vec<_> = columns.iter().map(|name| json!({ "name": name })).collect();
        serde_json::from_value(json!({ "columnDefinitions": columns, "rows": rows })).unwrap()
    }

    #[test]
    fn columns_are_as_wide_as_their_longest_cell() {
        let rows = json!([{ "cells": ["a", "x", 1] }, { "cells": ["ünïcödé", "y", 22] }]);
        let printed = table(&["Name", "B", "Last"], rows).to_string();
        assert_eq!(printed, "NAME      B     LAST\na         x     1\nünïcödé   y     22");
    }

    #[test]
    fn cells_are_printed_as_kubectl_prints_them() {
        for (cell, text) in [
            (json!(null), ""),
            (json!("<none>"), "<none>"),
            (json!(true), "true"),
            (json!(3), "3"),
            (json!(3.0), "3"),
            (json!(2.5), "2.5"),
            (json!("first\nsecond"), "first..."),
            (json!("red \u{1b}[31m"), "red ^[[31m"),
            (json!("a\tb"), "a b"),
            (json!(["a"]), "[\"a\"]"),
        ] {
            assert_eq!(text_of(&cell), text, "{cell}");
        }
    }

    #[test]
    fn rows_may_have_more_or_fewer_cells_than_columns() {
        let printed =
            table(&["A", "B"], json!([{ "cells": ["1"] }, { "cells": ["1", "2", "3"] }, { "cells": [] }]))
                .to_string();
        assert_eq!(printed, "A     B\n1\n1     2\n");
    }

    #[test]
    fn nothing_is_printed_without_rows() {
        assert_eq!(table(&["Name"], json!([])).to_string(), "");
        assert_eq!(table(&[], json!([{ "cells": [] }])).printer().no_headers().to_string(), "");
    }

    #[test]
    fn labels_are_columns() {
        let rows = json!([
            { "cells": ["a"], "object": { "metadata": { "labels": { "example.com/tier": "web", "a": "b" } } } },
            { "cells": ["b"] },
        ]);
        let table = table(&["Name"], rows);
        let printed = table.printer().label_columns(["example.com/tier"]).show_labels().to_string();
        assert_eq!(
            printed,
            "NAME   TIER   LABELS\na      web    a=b,example.com/tier=web\nb             <none>"
        );
    }
}
