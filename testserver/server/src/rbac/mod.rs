//! Access control: who sends a request, and what RBAC permits.
//!
//! A request passes `authorize`: `credentials`, or a token of the `signer`, give the `user`; `impersonation` may replace it; the `authorizer` compares what is requested with the rules of roles (`policy_rule`). `access` holds all this for one server.
//!
//! A write of a role or binding passes `validation` and the `escalation` check (`coverage` compares rules); `aggregation` computes the rules of aggregated roles.

mod access;
mod aggregation;
mod authorize;
mod authorizer;
mod coverage;
mod credentials;
mod escalation;
mod impersonation;
mod policy_rule;
mod signer;
mod user;
mod validation;

pub use user::User;

pub(crate) use access::{Access, RBAC};
pub(crate) use aggregation::aggregate;
pub(crate) use authorize::authorize;
pub(crate) use authorizer::{RbacAuthorizer, bootstrap_objects};
pub(crate) use credentials::Credentials;
pub(crate) use escalation::RoleWrite;
pub(crate) use policy_rule::{AuthorizationAttributes, PolicyRule};
pub(crate) use signer::{ISSUER, TokenSigner};
pub(crate) use validation::{prepare, validate};
