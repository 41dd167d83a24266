//! What every Kubernetes object has: metadata, names, labels and fields to select by, quantities, conditions.

pub(crate) mod conditions;
pub(crate) mod meta;
pub(crate) mod names;
pub(crate) mod quantity;
pub(crate) mod quantity_text;
pub(crate) mod selector;
