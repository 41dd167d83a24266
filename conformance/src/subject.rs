//! What a case works on, and what it needs of the server.

/// What a server must have for a case to apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// The built-in kinds of Kubernetes (namespaces, pods, ...), not only custom resources.
    CoreKinds,
    /// The identities `viewer` and `token-...` in the kubeconfig, and a server that tells them apart.
    Identities,
    /// Role-based access control that is enforced.
    Rbac,
}

/// The kind that a case works on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Subject {
    /// The suite's own custom resource `Widget`.
    Custom,
    /// A built-in kind that nothing else writes: `Lease`.
    Builtin,
}
