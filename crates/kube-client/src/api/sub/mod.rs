//! Subresources: parts of an object with an address of their own.

mod any;
mod status;
