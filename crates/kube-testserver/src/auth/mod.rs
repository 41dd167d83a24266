//! Who asks, and what they may do: pure functions over users, requests and the RBAC objects.

mod bindings;
mod bootstrap;
mod escalation;
mod login;
mod rule;
mod signer;
mod user;

pub use user::User;

pub(crate) use bindings::Bindings;
pub(crate) use bootstrap::objects as bootstrap;
pub(crate) use escalation::{missing, refusal};
pub(crate) use login::{Login, bearer};
pub(crate) use rule::{Question, Rule};
pub(crate) use signer::{ISSUER, Signer};
