//! Kubernetes' protobuf encoding, as far as `kubectl` sends it: the kinds that its commands make. Everything else is JSON.

mod decode;
mod messages;
mod wire;

#[cfg(test)]
mod tests;

pub(super) use decode::{decode, is_marked};
