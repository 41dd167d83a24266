//! The children of an object as one set: applied in order, waited for, and deleted once they are no longer wanted.
//!
//! [`Children`] has an example; [`ChildSet`] is what the sets of all owners of a controller share. One object alone needs
//! [`Apply`](crate::apply::Apply) only.
//!
//! - `set`: [`ChildSet`], the names of labels and annotations.
//! - `children`: [`Children`], which a reconcile fills; `member`: one child in it; `stop`: a child that is scaled to nothing.
//! - `graph`: which child comes after which; `plan`: which one is next, when applying and when deleting; `fate`: what becomes of an object
//!   that carries the label of the set; `record`: what the owner records of the set. All pure.
//! - `observe`: lists the objects of the set; `owner`: reads and writes the record; `remove`: deletes objects.
//! - `apply`, `delete`: what a reconcile calls.
//! - `status`: [`ChildrenStatus`], the result, and `result`: what is taken from it; `error`: why there is none; `child_error`: why one
//!   child was not applied.

mod apply;
mod child_error;
#[allow(clippy::module_inception, reason = "its main type, as in `apply`")]
mod children;
mod delete;
mod error;
mod fate;
mod graph;
mod member;
mod observe;
mod owner;
mod plan;
#[cfg(test)]
mod plan_tests;
mod record;
mod remove;
mod result;
mod set;
mod status;
mod stop;

pub use child_error::ChildError;
pub use children::Children;
pub use error::{ChildrenError, InvalidChildren};
pub use member::Added;
pub use set::ChildSet;
pub use status::{ChildState, ChildStatus, ChildrenStatus, RemovalState, RemovedChild};
