//! The verbs a server may allow on a resource, as discovery and RBAC spell them.

/// Make a new object.
pub const CREATE: &str = "create";
/// Read one object.
pub const GET: &str = "get";
/// Read all objects of a collection.
pub const LIST: &str = "list";
/// Follow the changes of a collection.
pub const WATCH: &str = "watch";
/// Delete one object.
pub const DELETE: &str = "delete";
/// Delete all objects of a collection.
pub const DELETE_COLLECTION: &str = "deletecollection";
/// Replace one object.
pub const UPDATE: &str = "update";
/// Change parts of one object.
pub const PATCH: &str = "patch";
