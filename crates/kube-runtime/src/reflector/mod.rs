//! Caching what a watcher reports.
//!
//! [`reflector`](fn@reflector) passes a stream of watcher events through and keeps the objects in a [`Store`], whose
//! clones can be read from anywhere. [`ObjectRef`] names an object of it.

mod by_name;
mod inbox;
mod index;
mod locks;
mod lookup;
mod namespaces;
mod object_ref;
mod parts;
mod published;
mod reflect;
mod registry;
pub mod store;
mod subscription;
mod table;

pub use index::Index;
pub use lookup::Lookup;
pub use namespaces::reflect_namespaces;
pub use object_ref::{ObjectRef, ObjectRefExtra};
pub use reflect::reflector;
pub use store::{Store, store, store_shared};
pub use subscription::ReflectHandle;

pub(crate) use namespaces::{PartsNews, follow_namespaces};
pub(crate) use object_ref::ObjectKey;
pub(crate) use reflect::FillStore;
