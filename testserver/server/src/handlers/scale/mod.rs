//! The `scale` subresource: the replicas of an object as an `autoscaling/v1` Scale.
//!
//! `sent`: the Scale of a PUT or a patch. `applied`: that of an apply, and the owners of the replicas. `shown`: the Scale of an object.
//! `write`: reads and writes it.

mod applied;
mod sent;
mod shown;
mod write;

pub(super) use write::perform;
