//! What objects of many kinds have: metadata, names, labels and fields to select by, quantities, conditions; the events about it.
//! Addresses, schedules.

pub(crate) mod addresses;
pub(crate) mod conditions;
// Without workloads, only the kubelet records events, and schedules are only checked.
#[cfg_attr(not(feature = "workloads"), allow(dead_code))]
pub(crate) mod event;
pub(crate) mod meta;
pub(crate) mod names;
pub(crate) mod quantity;
pub(crate) mod quantity_text;
#[cfg_attr(not(feature = "workloads"), allow(dead_code))]
pub(crate) mod schedule;
pub(crate) mod selector;
