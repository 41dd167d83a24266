//! The genuine servers, and the cases that do not apply to them.

use crate::{area, capabilities::Capabilities, subject::Need};

/// The genuine servers by the names of their columns in the table of results. A run on one of them fails if its cases apply differently.
const GENUINE: [(&str, Capabilities); 2] = [
    ("modern", Capabilities { version: (1, 36), core_kinds: false, rbac: false, identities: true }),
    ("core", Capabilities { version: (1, 20), core_kinds: true, rbac: true, identities: true }),
];

/// The ids of the cases that do not apply to a genuine server; `None` if the name is not one of theirs.
pub(crate) fn not_applicable_to(genuine: &str) -> Option<Vec<String>> {
    let (_, capabilities) = GENUINE.iter().find(|(name, _)| *name == genuine)?;
    let cases = area::cases().into_iter().filter(|case| !capabilities.meets(&case.needs));
    Some(cases.map(|case| case.id).collect())
}

/// The areas of the cases that apply to no genuine server, one entry for each case.
pub(crate) fn seen_by_no_genuine_server() -> Vec<String> {
    let unseen = |needs: &[Need]| GENUINE.iter().all(|(_, capabilities)| !capabilities.meets(needs));
    let cases = area::cases().into_iter().filter(|case| unseen(&case.needs));
    cases.map(|case| case.area().to_owned()).collect()
}
