//! Apply sets: which objects were applied together, so that those that are no longer in the set can be deleted.
//!
//! They are those of kubectl ([KEP-3659](https://kep.k8s.io/3659)): a set that one of both has applied can be applied by the other, and
//! what was removed in between is pruned. [`ApplySet`] shows how.

// `set` is the identity, `members` what the parent records, `object` an object in messages. `plan` decides what to write and delete,
// `parent`, `session` and, for members that are no longer in the set, `deletion` do it, `error` says why not.

// The set, what its parent records, and objects in messages.
mod members;
mod object;
mod set;

// What to write, what to look at and what to delete; no I/O.
mod plan;

// The requests: for the parent, and for members.
mod deletion;
mod parent;
mod session;

mod error;

pub use error::{ApplySetError, PruneError, PruneFailure};
pub use object::PrunedObject;
pub use session::Applying;
pub use set::ApplySet;

pub(crate) use object::object_text;
pub(crate) use session::Finished;
