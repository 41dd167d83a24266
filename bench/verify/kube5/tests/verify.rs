//! The test of all operators here, which is shared.

#[path = "../../verify.rs"]
mod verify;
