//! [`Status`]: the response of a server if it is not an object.

mod decode;
pub mod reason;
mod status;

pub use status::*;
