//! The columns of built-in kinds, in the order and under the names that the genuine server gives them.

mod access;
mod cluster;
mod column;
mod core;
mod network;
mod pods;
mod storage;
mod values;
mod workloads;

pub(super) use column::{Cell, TableColumn};

/// The columns of a built-in kind. Kinds that have none of their own show name and age.
pub(super) fn of(group: &str, plural: &str) -> &'static [TableColumn] {
    const DEFAULT: &[TableColumn] = &[column::NAME, column::AGE];
    [core::columns, workloads::columns, network::columns, storage::columns, access::columns, cluster::columns]
        .iter()
        .find_map(|columns| columns(group, plural))
        .unwrap_or(DEFAULT)
}
