//! [`Status`]: the response of a server if it is not an object.

pub mod reason;
mod status;
#[cfg(test)]
mod tests;

pub use status::*;
