//! Says who we are, in the `Authorization` header.

mod layer;
mod service;

pub use layer::AuthLayer;
pub use service::Auth;

/// Put on an answer of 401 whose credential can be renewed: the same request may succeed now.
#[derive(Clone, Copy, Debug)]
pub(super) struct CredentialRefused;
