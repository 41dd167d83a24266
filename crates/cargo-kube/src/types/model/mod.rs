//! The types of a run, each structure once: [`build`] makes them from the schemas, [`place`] decides where they are and how they are
//! called.

mod build;
mod graph;
mod place;

pub(super) use build::build;
pub(super) use graph::{Field, Graph, Presence, Root, Shape, Ty, Type, TypeId};
pub(super) use place::{Place, Placed, place};
