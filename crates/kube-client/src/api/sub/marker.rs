//! Which kinds have which subresource.

use k8s_openapi::api::core::v1::Pod;

/// Kinds that can be evicted.
pub trait Evict {}
impl Evict for Pod {}

/// Kinds that have logs.
pub trait Log {}
impl Log for Pod {}

/// Kinds whose resources can be changed while they run.
pub trait Resize {}
impl Resize for Pod {}
