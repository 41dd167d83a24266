use serde_json::{Value, json};

use super::{
    age, built_in,
    jsonpath::{JsonPath, plain},
};
use crate::registry::{Column, Endpoint};

/// The columns of a resource and how to fill them.
pub(super) struct Columns {
    definitions: Value,
    cells: Vec<Cell>,
}

/// Where one cell comes from.
enum Cell {
    Name,
    Age,
    /// A path of a CRD's printer column, and its type.
    Path {
        path: Option<JsonPath>,
        kind: String,
    },
    Made(fn(&Value) -> Value),
}

impl Columns {
    pub(super) fn of(endpoint: &Endpoint) -> Self {
        let mut columns = Self { definitions: json!([]), cells: Vec::new() };
        columns.add("Name", "string", "name", "Name must be unique within a namespace.", 0, Cell::Name);
        if endpoint.resource.custom {
            for column in &endpoint.version().columns {
                let Column { name, kind, format, description, priority, path } = column;
                let cell = Cell::Path { path: JsonPath::parse(path), kind: kind.clone() };
                // Dates are shown as ages, which are text.
                let shown = if kind == "date" { "date" } else { kind };
                columns.add(name, shown, format, description, *priority, cell);
            }
            return columns;
        }
        let made = built_in::columns(endpoint.group(), endpoint.plural());
        let (always, wide): (Vec<_>, Vec<_>) =
            made.iter().copied().partition(|(_, priority, _)| *priority == 0);
        for (name, priority, make) in always {
            columns.add(name, "string", "", "", priority, Cell::Made(make));
        }
        // Definitions show when they were created, not how long ago.
        if !endpoint.resource.is("apiextensions.k8s.io", "customresourcedefinitions") {
            columns.add("Age", "string", "", "How long ago the object was created.", 0, Cell::Age);
        }
        for (name, priority, make) in wide {
            columns.add(name, "string", "", "", priority, Cell::Made(make));
        }
        columns
    }

    pub(super) fn definitions(&self) -> &Value {
        &self.definitions
    }

    /// The cells of one object at the time `now`.
    pub(super) fn cells(&self, object: &Value, now: &str) -> Value {
        self.cells.iter().map(|cell| cell.fill(object, now)).collect()
    }

    fn add(&mut self, name: &str, kind: &str, format: &str, description: &str, priority: i64, cell: Cell) {
        let definition = json!({"name": name, "type": kind, "format": format, "description": description, "priority": priority});
        self.definitions.as_array_mut().expect("invariant: made as an array").push(definition);
        self.cells.push(cell);
    }
}

impl Cell {
    fn fill(&self, object: &Value, now: &str) -> Value {
        match self {
            Self::Name => object["metadata"]["name"].clone(),
            Self::Age => {
                age::since(object["metadata"]["creationTimestamp"].as_str().unwrap_or_default(), now).into()
            }
            Self::Made(make) => make(object),
            Self::Path { path: None, .. } => Value::Null,
            Self::Path { path: Some(path), kind } => {
                let found = path.find(object);
                match (found.as_slice(), kind.as_str()) {
                    ([], _) | ([Value::Null], _) => Value::Null,
                    ([Value::String(time), ..], "date") => age::since(time, now).into(),
                    ([value @ Value::Number(_), ..], "integer" | "number") => (*value).clone(),
                    ([value @ Value::Bool(_), ..], "boolean") => (*value).clone(),
                    (_, "string") => found.iter().map(|v| plain(v)).collect::<Vec<_>>().join(",").into(),
                    _ => Value::Null,
                }
            }
        }
    }
}
