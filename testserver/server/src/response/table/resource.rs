//! The columns of a resource, and the cells of its objects.

use serde_json::{Value, json};

use super::{
    age, columns,
    jsonpath::{JsonPath, plain},
};
use crate::scheme::{Endpoint, PrinterColumn};

/// The columns of a resource.
pub(in crate::response) struct Columns {
    definitions: Value,
    cells: Vec<CellSource>,
}

/// How a cell is computed.
enum CellSource {
    Name,
    /// The path of a CRD's printer column, and its type.
    Path {
        path: Option<JsonPath>,
        kind: String,
    },
    BuiltIn(columns::Cell),
}

impl Columns {
    pub(in crate::response) fn of(endpoint: &Endpoint) -> Option<Self> {
        let mut columns = Self { definitions: json!([]), cells: Vec::new() };
        if endpoint.resource.custom {
            columns.add(
                "Name",
                "string",
                "name",
                "Name must be unique within a namespace.",
                0,
                CellSource::Name,
            );
            for column in &endpoint.version().columns {
                let PrinterColumn { name, kind, format, description, priority, path } = column;
                let cell = CellSource::Path { path: JsonPath::parse(path), kind: kind.clone() };
                // Dates are shown as ages.
                let column_type = if kind == "date" { "date" } else { kind };
                columns.add(name, column_type, format, description, *priority, cell);
            }
            return Some(columns);
        }
        for column in columns::of(endpoint.group(), endpoint.plural()) {
            let priority = i64::from(column.wide);
            columns.add(
                column.name,
                column.kind,
                column.format,
                "",
                priority,
                CellSource::BuiltIn(column.cell),
            );
        }
        Some(columns)
    }

    pub(in crate::response) fn definitions(&self) -> &Value {
        &self.definitions
    }

    /// The cells of an object; `now` is the reference of ages.
    pub(in crate::response) fn cells(&self, object: &Value, now: &str) -> Value {
        self.cells.iter().map(|cell| cell.fill(object, now)).collect()
    }

    fn add(
        &mut self,
        name: &str,
        kind: &str,
        format: &str,
        description: &str,
        priority: i64,
        cell: CellSource,
    ) {
        let definition = json!({"name": name, "type": kind, "format": format, "description": description, "priority": priority});
        self.definitions.as_array_mut().expect("invariant: made as an array").push(definition);
        self.cells.push(cell);
    }
}

impl CellSource {
    fn fill(&self, object: &Value, now: &str) -> Value {
        match self {
            Self::Name => object["metadata"]["name"].clone(),
            Self::BuiltIn(columns::Cell::Object(make)) => make(object),
            Self::BuiltIn(columns::Cell::Time(make)) => make(object, now),
            Self::Path { path: None, .. } => Value::Null,
            Self::Path { path: Some(path), kind } => {
                let values = path.find(object);
                match (values.as_slice(), kind.as_str()) {
                    ([], _) | ([Value::Null], _) => Value::Null,
                    ([Value::String(time), ..], "date") => age::since(time, now).into(),
                    ([value @ Value::Number(_), ..], "integer" | "number") => (*value).clone(),
                    ([value @ Value::Bool(_), ..], "boolean") => (*value).clone(),
                    // Genuine servers show the first of several values.
                    ([value, ..], "string") => plain(value).into(),
                    _ => Value::Null,
                }
            }
        }
    }
}
