//! Rows of a table: columns by kind, or the printer columns of a CRD.

mod age;
mod columns;
mod jsonpath;
mod resource;

pub(super) use resource::Columns;

/// Whether clients can request tables.
pub(super) const SERVED: bool = true;
