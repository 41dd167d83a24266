//! The verbs of resources, as discovery and RBAC spell them.
//!
//! The documentation of each lists the methods of [`Request`](crate::Request) that need it.
//!
//! ```
//! use kube_core::discovery::verbs;
//!
//! // The permissions of a controller that watches, writes and cleans up objects.
//! let read = [verbs::GET, verbs::LIST, verbs::WATCH];
//! let write = [verbs::CREATE, verbs::UPDATE, verbs::PATCH];
//! let clean = [verbs::DELETE, verbs::DELETE_COLLECTION];
//! assert_eq!([&read[..], &write, &clean].concat().join(","),
//!     "get,list,watch,create,update,patch,delete,deletecollection");
//! ```

/// Create an object: `create`; with [`PATCH`], also apply patches of objects that do not exist.
pub const CREATE: &str = "create";
/// Read one object: `get`.
pub const GET: &str = "get";
/// Read all objects of a collection: `list`.
pub const LIST: &str = "list";
/// Follow the changes of a collection: `watch`.
pub const WATCH: &str = "watch";
/// Delete one object: `delete`.
pub const DELETE: &str = "delete";
/// Delete all objects of a collection: `delete_collection`.
pub const DELETE_COLLECTION: &str = "deletecollection";
/// Replace one object: `replace`.
pub const UPDATE: &str = "update";
/// Change parts of one object: `patch`, with any patch type.
pub const PATCH: &str = "patch";
