//! What the expansion of `kube::apply!` calls: writes some fields of a struct, and finds out their names on the wire.
//!
//! The expansion is straight-line code. Each value is put where it belongs, into a struct that is blank otherwise, and its JSON is kept
//! beside it with the address of its field. Once a struct is complete, its own `Serialize` hands out names and references: a reference to
//! the address of a written field tells the name of that field. Only addresses and types are compared; nothing is read through them.
//!
//! - `blank`: [`Blank`], the struct that fields are written to.
//! - `accept`: [`Accept`], the values that a field of a type takes; `convert` has the conversions for types of the Kubernetes API.
//! - `slot`: [`Slot`], one field; `collection`: lists and maps.
//! - `writer`: [`Writer`], everything written so far; `root`: [`Root`], the outermost struct.
//! - `written`: a field that was written. `attribute`: the names of those of one struct, from `names`, which looks at what the struct
//!   serializes; `change` and `observe` find those of fields that a function serializes.

mod accept;
mod attribute;
mod blank;
mod change;
mod collection;
mod convert;
mod names;
mod observe;
mod root;
mod slot;
mod writer;
mod written;

pub use accept::{Accept, Base, Taken};
pub use blank::Blank;
pub use collection::{ListField, ListItems, MapField, MapValues};
pub use root::{NoKind, Root};
pub use slot::{Plain, Slot};
pub use writer::Writer;
