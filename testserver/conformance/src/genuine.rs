//! The genuine server, and the cases that do not apply to it.

use crate::{area, capabilities::Capabilities};

/// The genuine server by the name of its column in the table of results. A run on it fails if the cases apply differently.
const GENUINE: (&str, Capabilities) =
    ("v1.37", Capabilities { version: (1, 37), core_kinds: true, rbac: true, identities: true });

/// The ids of the cases that do not apply to the genuine server; `None` if the name is not its name.
pub(crate) fn not_applicable_to(column: &str) -> Option<Vec<String>> {
    let (name, capabilities) = GENUINE;
    let cases = area::cases().into_iter().filter(|case| !capabilities.meets(&case.needs));
    (name == column).then(|| cases.map(|case| case.id).collect())
}
