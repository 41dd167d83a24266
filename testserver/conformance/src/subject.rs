//! The kind that a case uses, and its requirements of the server.

/// A requirement of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// The built-in kinds of Kubernetes (namespaces, pods, ...), not only custom resources.
    CoreKinds,
    /// The kubeconfig contexts `viewer` and `token-...`, and a server that authenticates them.
    Identities,
    /// Enforced RBAC.
    Rbac,
    /// Kubernetes 1.x of this minor version or a later one: the rule of the case is not that of older versions.
    Since(u32),
}

/// The kind that a case uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Subject {
    /// The suite's own custom resource `Widget`.
    Custom,
    /// A built-in kind that nothing else writes: `Lease`.
    Builtin,
}
