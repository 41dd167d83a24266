//! What a server can tell about its kinds: names, scopes, verbs.

mod resource;
pub mod v2;
pub mod verbs;

pub use resource::*;
