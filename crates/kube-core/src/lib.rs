//! Types and pure functions of the Kubernetes API.
//!
//! This crate performs no I/O. Only [`Request::restart`] reads the clock. The modules, in the order in which data passes:
//!
//! - Kinds: the [`Resource`] trait maps a Rust type to its API group, version, resource name and scope. [`gvk`] and
//!   [`discovery`] describe a kind as data, [`Version`] orders API versions, [`crd`] holds custom resource definitions.
//! - Objects: [`metadata`], [`object`] and [`dynamic`] are typed, partly typed and untyped objects.
//! - Requests: [`params`] configure a verb, [`labels`] select objects, and [`request`] builds [`http::Request`] values from
//!   both. [`subresource`] adds the verbs of some kinds only, `kubelet_debug` the endpoints of a kubelet.
//! - Server-side apply: [`apply`] has configurations, and what a manager has applied.
//! - Responses: [`ObjectList`], [`watch`] and [`response`] decode what a server returns; [`error_boundary`] keeps one
//!   undecodable object from failing a whole list.
//! - Controllers: [`reconcile`] marks the requests of a reconcile, and says what they have written.
//! - Schemas of custom resources: `schema` makes them structural, [`cel`] adds validation rules and merge strategies.
//! - Webhooks: `admission` and [`conversion`] are the reviews that a server sends.
//!
//! ```
//! use k8s_openapi::api::core::v1::Pod;
//! use kube_core::{Request, Resource, params::ListParams};
//!
//! let pods = Request::new(Pod::url_path(&(), Some("default")));
//! let list = pods.list(&ListParams::default().labels("app=web")).expect("valid parameters");
//! assert_eq!(list.method(), "GET");
//! assert_eq!(list.uri().path(), "/api/v1/namespaces/default/pods");
//! assert_eq!(list.uri().query(), Some("&labelSelector=app%3Dweb"));
//! ```

// For all of these: `resource` is the trait and `type_meta` what it writes on the wire; `version` orders API versions; `encode` has the
// percent-encoding of requests; `property_name` the names in CEL expressions; `duration` those of Go; `quantity` the
// amounts of resources; `number` makes those of YAML numbers of JSON; `panic` the message of a caught one; `util` what is left: kinds that
// can be restarted, collections that are `null`.

mod encode;
mod property_name;
mod resource;
mod type_meta;
mod version;

#[cfg(feature = "admission")]
pub mod admission;
pub mod apply;
pub mod cel;
pub mod conversion;
pub mod crd;
pub mod discovery;
pub mod duration;
pub mod dynamic;
pub mod error_boundary;
pub mod gvk;
#[cfg(feature = "kubelet-debug")]
pub mod kubelet_debug;
pub mod labels;
pub mod metadata;
#[doc(hidden)]
pub mod number;
pub mod object;
#[doc(hidden)]
pub mod panic;
pub mod params;
pub mod quantity;
pub mod reconcile;
pub mod request;
pub mod response;
#[cfg(feature = "schema")]
pub mod schema;
pub mod subresource;
pub mod util;
pub mod watch;

pub use apply::Sparse;
pub use cel::{ListMerge, MapMerge, Message, Reason, Rule, StructMerge};
#[cfg(feature = "schema")]
pub use cel::{merge_properties, merge_strategy, merge_strategy_property, validate, validate_property};
pub use crd::CustomResourceExt;
pub use discovery::ApiResource;
pub use duration::Duration;
pub use dynamic::DynamicObject;
pub use error_boundary::DeserializeGuard;
pub use gvk::{GroupVersion, GroupVersionKind, GroupVersionResource};
pub use labels::{Expression, ParseExpressionError, Selector, SelectorExt};
pub use metadata::{ListMeta, ObjectMeta, PartialObjectMeta, PartialObjectMetaExt, TypeMeta};
pub use object::{NotUsed, Object, ObjectList};
pub use quantity::Quantity;
pub use request::Request;
pub use resource::{
    ClusterResourceScope, DynamicResourceScope, NamespaceResourceScope, NamespaceScope, OwnerError, OwnerExt,
    Resource, ResourceExt, ResourceScope, SubResourceScope, api_version_from_group_version,
};
pub use response::Status;
pub use version::Version;
pub use watch::WatchEvent;

/// The former name of [`Status`].
#[deprecated(since = "3.0.0", note = "use `Status`")]
pub type ErrorResponse = Status;
