//! One column of a table, and the columns that most kinds have.

use serde_json::Value;

use crate::response::table::age;

/// One column of a table.
#[derive(Clone, Copy)]
pub(in crate::response) struct TableColumn {
    pub(in crate::response) name: &'static str,
    /// Type and format, as the table states them.
    pub(in crate::response) kind: &'static str,
    pub(in crate::response) format: &'static str,
    /// Shown only with `-o wide`.
    pub(in crate::response) wide: bool,
    pub(in crate::response) cell: Cell,
}

/// How a cell is computed.
#[derive(Clone, Copy)]
pub(in crate::response) enum Cell {
    /// A function of the object.
    Object(fn(&Value) -> Value),
    /// A function of the object and the current time.
    Time(fn(&Value, &str) -> Value),
}

pub(super) const NAME: TableColumn =
    TableColumn { format: "name", ..text("Name", |object| object["metadata"]["name"].clone()) };
pub(super) const AGE: TableColumn = timed("Age", |object, now| {
    age::since(object["metadata"]["creationTimestamp"].as_str().unwrap_or_default(), now).into()
});
pub(super) const CREATED_AT: TableColumn = TableColumn {
    kind: "date",
    ..text("Created At", |object| object["metadata"]["creationTimestamp"].clone())
};

pub(super) const fn text(name: &'static str, make: fn(&Value) -> Value) -> TableColumn {
    TableColumn { name, kind: "string", format: "", wide: false, cell: Cell::Object(make) }
}

pub(super) const fn integer(name: &'static str, make: fn(&Value) -> Value) -> TableColumn {
    TableColumn { kind: "integer", ..text(name, make) }
}

pub(super) const fn boolean(name: &'static str, make: fn(&Value) -> Value) -> TableColumn {
    TableColumn { kind: "boolean", ..text(name, make) }
}

pub(super) const fn timed(name: &'static str, make: fn(&Value, &str) -> Value) -> TableColumn {
    TableColumn { cell: Cell::Time(make), ..text(name, |_| Value::Null) }
}

/// The same column, shown with `-o wide` only.
pub(super) const fn wide(column: TableColumn) -> TableColumn {
    TableColumn { wide: true, ..column }
}
