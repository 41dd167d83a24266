//! What leaves the crate: requests as the bytes that would be sent. Only the public API is used.

mod requests;
