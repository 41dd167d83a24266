//! What every Kubernetes object has: metadata, names, labels and fields to select by, quantities, conditions; the events about it.
//! Addresses, schedules.
//!
//! `meta` reads metadata, `names` validates names and labels, `selector` selects by them; `addresses` are those of networks. `conditions`
//! are those of a status. `quantity` calculates, `quantity_text` is how one is stored; `schedule` is that of a CronJob, `event` what is
//! said about an object.

pub(crate) mod addresses;
pub(crate) mod conditions;
#[cfg_attr(not(feature = "workloads"), allow(dead_code))]
pub(crate) mod event;
pub(crate) mod meta;
pub(crate) mod names;
pub(crate) mod quantity;
pub(crate) mod quantity_text;
#[cfg_attr(not(feature = "workloads"), allow(dead_code))]
pub(crate) mod schedule;
pub(crate) mod selector;
