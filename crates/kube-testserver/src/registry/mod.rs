//! What kinds the server knows.

pub(crate) mod builtin;
