//! Objects put together from parts, and lists of objects.

mod defaults;
mod list;
mod typed;

pub use defaults::DefaultTypes;
pub use list::ObjectList;
pub use typed::{HasSpec, HasStatus, NotUsed, Object};
