//! Discovery data: the kinds that a server serves, with their names, scopes and verbs.

mod resource;
pub mod v2;
pub mod verbs;

pub use resource::*;
