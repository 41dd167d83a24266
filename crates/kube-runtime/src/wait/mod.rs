//! Waiting for an object to reach a state.

mod builtin;
mod combine;
mod condition;
pub mod delete;
mod probe;

pub use condition::Condition;
pub use probe::{Error, await_condition};

pub mod conditions {
    //! Conditions to wait for, and ways to combine them.

    pub use super::builtin::{
        is_crd_established, is_created, is_deleted, is_deployment_completed, is_ingress_provisioned,
        is_job_completed, is_pod_running, is_service_loadbalancer_provisioned,
    };
    pub use super::combine::{And, Not, Or};
    pub use super::condition::Condition;
}
