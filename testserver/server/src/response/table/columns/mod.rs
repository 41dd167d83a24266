//! The table columns of built-in kinds, with names and order of the genuine server.
//!
//! `column` is what a column is, `values` formats its cells. Columns by kind: `pods`, `core`, `workloads`, `network`, `storage`, `access`,
//! `admission`, `cluster`, `devices`.

mod access;
mod admission;
mod cluster;
mod column;
mod core;
mod devices;
mod network;
mod pods;
mod storage;
mod values;
mod workloads;

pub(super) use column::{Cell, TableColumn};

/// The columns of a built-in kind; name and age by default.
pub(super) fn of(group: &str, plural: &str) -> &'static [TableColumn] {
    const DEFAULT: &[TableColumn] = &[column::NAME, column::AGE];
    let kinds = [
        core::columns,
        workloads::columns,
        network::columns,
        storage::columns,
        access::columns,
        admission::columns,
        devices::columns,
        cluster::columns,
    ];
    kinds.iter().find_map(|columns| columns(group, plural)).unwrap_or(DEFAULT)
}
