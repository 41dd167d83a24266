//! [`Status`]: the response of a server if it is not an object.

pub mod reason;
mod status;

pub use status::*;
