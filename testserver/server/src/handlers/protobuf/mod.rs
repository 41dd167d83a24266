//! Kubernetes' protobuf encoding of the kinds that `kubectl` commands create. Other kinds need JSON.

mod decode;
mod messages;
mod wire;

#[cfg(test)]
mod tests;

pub(super) use decode::{decode, is_marked};
