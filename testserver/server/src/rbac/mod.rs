//! Access control: who sends a request, and what RBAC permits.
//!
//! A request passes `authorize`: `credentials`, the subject of a client certificate (`certificate_user`), or a token of the `signer`, give
//! the `user`; `impersonation` may replace it; the `authorizer` compares what is requested with the rules of roles (`policy_rule`).
//! `access` holds all this for one server.
//!
//! A write of a role or `binding` passes the `escalation` check (`coverage` compares rules); `aggregation` computes the rules of
//! aggregated roles.

mod access;
mod aggregation;
mod authorize;
mod authorizer;
mod binding;
mod certificate_user;
mod coverage;
mod credentials;
mod escalation;
mod impersonation;
mod policy_rule;
mod signer;
mod user;

pub use user::User;

pub(crate) use access::{Access, RBAC};
pub(crate) use aggregation::aggregate;
pub(crate) use authorize::authorize;
pub(crate) use authorizer::{RbacAuthorizer, bootstrap_objects};
pub(crate) use binding::prepare;
pub(crate) use credentials::Credentials;
pub(crate) use escalation::RoleWrite;
pub(crate) use policy_rule::{AuthorizationAttributes, PolicyRule};
pub(crate) use signer::TokenSigner;
