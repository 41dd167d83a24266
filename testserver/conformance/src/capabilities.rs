//! What a server has of the requirements of cases, and what the genuine servers have.

use crate::{area, subject::Need};

/// What a server has.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Capabilities {
    /// Major and minor version.
    pub(crate) version: (u32, u32),
    pub(crate) core_kinds: bool,
    pub(crate) rbac: bool,
    pub(crate) identities: bool,
}

/// The genuine servers by the names of their columns in the table of results. A run on one of them fails if its cases apply differently.
const GENUINE: [(&str, Capabilities); 2] = [
    ("modern", Capabilities { version: (1, 36), core_kinds: false, rbac: false, identities: true }),
    ("core", Capabilities { version: (1, 20), core_kinds: true, rbac: true, identities: true }),
];

impl Capabilities {
    /// Why the server does not meet a need; `None` if it does.
    pub(crate) fn unmet(&self, need: Need) -> Option<String> {
        match need {
            Need::CoreKinds if !self.core_kinds => Some("the server has no built-in kinds".to_owned()),
            Need::Rbac if !self.rbac => Some("the server does not enforce RBAC".to_owned()),
            Need::Identities if !self.identities => {
                Some("the kubeconfig has no contexts viewer, token-admin, token-nobody".to_owned())
            }
            Need::Since(minor) if self.version < (1, minor) => {
                let (major, old) = self.version;
                Some(format!("the rule is that of 1.{minor} and later, the server is {major}.{old}"))
            }
            _ => None,
        }
    }

    fn meets(&self, needs: &[Need]) -> bool {
        needs.iter().all(|need| self.unmet(*need).is_none())
    }
}

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
