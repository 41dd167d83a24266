//! Kinds that come and go: whether the cluster serves a kind, as its definition is installed, removed and installed again.
//!
//! [`ServedKinds`] watches the metadata of CustomResourceDefinitions and of APIServices, one watch each for the whole program, and runs
//! discovery after a change. A [`ServedKind`] tells about one kind. [`Related::if_served`](crate::controller::Related::if_served) is for
//! the watches of a controller, `kube_operator`'s `Manager::while_served` for controllers.

// In the order in which data passes:
// - `definitions`: the two watches; `schedule`: when to run discovery. `task` does both.
// - `availability`: what the answer means for a kind. `wanted`: who waits for which kind. `kinds`: what programs see of that.
// - `events`: a watch that is open while its kind is served.

mod availability;
mod definitions;
mod events;
mod kinds;
mod schedule;
mod task;
mod wanted;

pub use availability::Availability;
pub use kinds::{KindSnapshot, ServedKind, ServedKinds, scope_of};

pub(crate) use events::{ServedGate, while_served};
