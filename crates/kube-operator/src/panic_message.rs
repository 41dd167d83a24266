//! The message of a caught panic.

pub(crate) use kube_core::panic::panic_message;
