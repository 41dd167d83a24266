//! The crate against the embedded API server.

mod webhooks;
