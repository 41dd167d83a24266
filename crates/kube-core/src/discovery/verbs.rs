//! The verbs a server may allow on a resource, as discovery and RBAC spell them.
//!
//! Each names the methods of [`Request`](crate::Request) that need it.
//!
//! ```
//! use kube_core::discovery::verbs;
//!
//! // What a controller that watches and writes objects, and cleans up behind itself, has to be allowed.
//! let read = [verbs::GET, verbs::LIST, verbs::WATCH];
//! let write = [verbs::CREATE, verbs::UPDATE, verbs::PATCH];
//! let clean = [verbs::DELETE, verbs::DELETE_COLLECTION];
//! assert_eq!([&read[..], &write, &clean].concat().join(","),
//!     "get,list,watch,create,update,patch,delete,deletecollection");
//! ```

/// Make a new object: `create`, and for apply patches of objects that are not there yet, beside [`PATCH`].
pub const CREATE: &str = "create";
/// Read one object: `get`.
pub const GET: &str = "get";
/// Read all objects of a collection: `list`.
pub const LIST: &str = "list";
/// Follow the changes of a collection: `watch`.
pub const WATCH: &str = "watch";
/// Delete one object: `delete`.
pub const DELETE: &str = "delete";
/// Delete all objects of a collection, one word without a break: `delete_collection`.
pub const DELETE_COLLECTION: &str = "deletecollection";
/// Replace one object: `replace`, which the API calls an update.
pub const UPDATE: &str = "update";
/// Change parts of one object: `patch`, of any kind.
pub const PATCH: &str = "patch";
