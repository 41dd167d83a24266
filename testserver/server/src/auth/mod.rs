//! Authentication and authorization: pure functions over users, requests and RBAC objects.

mod credentials;
mod escalation;
mod policy_rule;
mod rbac;
mod signer;
mod user;

pub use user::User;

pub(crate) use credentials::{Credentials, bearer_token};
pub(crate) use escalation::{missing, refusal};
pub(crate) use policy_rule::{AuthorizationAttributes, PolicyRule};
pub(crate) use rbac::{RbacAuthorizer, bootstrap_objects};
pub(crate) use signer::{ISSUER, TokenSigner};
