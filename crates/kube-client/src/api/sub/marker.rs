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

/// Kinds to whose main process one can connect.
#[cfg(feature = "ws")]
pub trait Attach {}
#[cfg(feature = "ws")]
impl Attach for Pod {}

/// Kinds in which commands can be run.
#[cfg(feature = "ws")]
pub trait Execute {}
#[cfg(feature = "ws")]
impl Execute for Pod {}

/// Kinds to whose ports one can connect.
#[cfg(feature = "ws")]
pub trait Portforward {}
#[cfg(feature = "ws")]
impl Portforward for Pod {}

/// Kinds that can get containers while they run.
#[cfg(feature = "ws")]
pub trait Ephemeral {}
#[cfg(feature = "ws")]
impl Ephemeral for Pod {}
