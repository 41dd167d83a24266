//! What is tried.

use std::sync::Arc;

use kube_testserver::{Builder, User};

use crate::{
    invariant::Invariant,
    operator::{Start, World},
    report::Allows,
    workload::Step,
};

/// All that the user has said.
pub(crate) struct Scenario {
    pub(crate) operator: Version,
    /// The version that runs before an upgrade.
    pub(crate) old_operator: Option<Version>,
    pub(crate) cluster: Box<dyn Fn(Builder) -> Builder + Send + Sync>,
    /// Who the operator is, where the cluster asks for permissions.
    pub(crate) account: Option<User>,
    pub(crate) steps: Vec<(String, Step)>,
    pub(crate) invariants: Arc<[Invariant]>,
    pub(crate) allows: Allows,
    /// The most plans of a family, but for `cargo kube verify`.
    pub(crate) per_family: Option<usize>,
}

/// Makes the function that starts processes of a version of the operator, once per run.
pub(crate) type Version = Box<dyn Fn(&World) -> Start + Send + Sync>;
