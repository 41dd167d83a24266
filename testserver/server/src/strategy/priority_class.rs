//! The priority classes that every cluster has.

/// Larger values belong to the classes of the system.
pub(crate) const HIGHEST_USER_PRIORITY: i64 = 1_000_000_000;
/// The classes of the system: name, value and description.
pub(crate) const SYSTEM_CLASSES: [(&str, i64, &str); 2] = [
    (
        "system-node-critical",
        2 * HIGHEST_USER_PRIORITY + 1000,
        "Used for system critical pods that must not be moved from their current node.",
    ),
    (
        "system-cluster-critical",
        2 * HIGHEST_USER_PRIORITY,
        "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
    ),
];
