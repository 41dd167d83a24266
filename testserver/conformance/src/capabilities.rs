//! What a server has of the requirements of cases.

use crate::subject::Need;

/// What a server has.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Capabilities {
    /// Major and minor version.
    pub(crate) version: (u32, u32),
    pub(crate) core_kinds: bool,
    pub(crate) rbac: bool,
    pub(crate) identities: bool,
}

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

    /// Whether the server meets all needs.
    pub(crate) fn meets(&self, needs: &[Need]) -> bool {
        needs.iter().all(|need| self.unmet(*need).is_none())
    }
}
