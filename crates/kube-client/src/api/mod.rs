//! [`Api`]: the typed interface to one kind of object.

// `handle` is `Api` itself. Reads: `get`, `list` with its `pages`, `watch`, each also of `metadata` only. Writes: `write` creates and
// replaces, `update` and `entry` do it in two steps, `patch` and `delete`, `kubectl` has patches known from there. `sub` has
// the subresources.

// `Api` itself: its constructors and its scope.
mod handle;

// Reads.
mod get;
mod list;
mod metadata;
mod pages;
mod table;
mod wait;
mod watch;

// Writes.
mod apply;
mod delete;
pub mod entry;
mod kubectl;
mod patch;
mod update;
mod write;

// Subresources.
mod sub;

#[cfg(feature = "ws")]
pub use crate::websocket::{AttachedProcess, ChannelError, Portforwarder, TerminalSize};
pub use handle::*;
#[cfg(feature = "ws")]
pub use sub::{Attach, Ephemeral, Execute, Portforward};
pub use sub::{Evict, Log, Resize};
pub use update::ChangeResult;

/// The error of a process in a container.
#[cfg(feature = "ws")]
pub mod remote_command {
    pub use crate::websocket::ChannelError as Error;
}

/// The error of forwarded ports.
#[cfg(feature = "ws")]
pub mod portforward {
    pub use crate::websocket::ChannelError as Error;
}

#[cfg(feature = "admission")]
pub use kube_core::admission;
pub use kube_core::dynamic::{ApiResource, DynamicObject};
pub use kube_core::gvk::{GroupVersionKind, GroupVersionResource};
pub use kube_core::metadata::{ListMeta, ObjectMeta, PartialObjectMeta, PartialObjectMetaExt, TypeMeta};
pub use kube_core::object::{NotUsed, Object, ObjectList};
pub use kube_core::params::{
    DeleteParams, GetParams, ListParams, Patch, PatchParams, PostParams, Preconditions, PropagationPolicy,
    ValidationDirective, VersionMatch, WatchParams,
};
pub use kube_core::request::Request;
#[cfg(feature = "ws")]
pub use kube_core::subresource::AttachParams;
pub use kube_core::subresource::{EvictParams, LogParams, ScaleSpec, ScaleStatus};
pub use kube_core::watch::WatchEvent;
pub use kube_core::{Resource, ResourceExt};
