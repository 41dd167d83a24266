//! What a server answers when it does not answer with an object: [`Status`].

pub mod reason;
mod status;

pub use status::*;
