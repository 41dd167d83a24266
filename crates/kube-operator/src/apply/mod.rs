//! Creating and updating the children of an object by server-side apply.
//!
//! [`Apply`] sets owner reference and field manager, applies, and reports whether anything changed. It is what Go programs do with
//! `controllerutil.CreateOrUpdate` and `SetControllerReference`.
//!
//! - `children`: [`Apply`], the requests.
//! - `child`: checks a child and makes the apply patch: namespace, owner reference.
//! - `compare`: whether an object already has what an apply patch would write.
//! - `conflict`: [`ApplyConflict`], the fields that other managers own.

mod child;
mod children;
mod compare;
#[cfg(test)]
mod compare_tests;
mod conflict;

pub use child::InvalidChild;
pub use children::{Applied, Apply, ApplyError, Change, Child, OnConflict};
pub use conflict::ApplyConflict;
pub use kube_client::error::FieldConflict;

#[cfg(feature = "manager")]
pub(crate) use child::{ChildPatch, Owner, OwnerFinalizers};
pub(crate) use compare::{Comparison, compare};
