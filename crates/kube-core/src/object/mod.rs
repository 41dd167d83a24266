//! Objects with typed spec and status, and lists of objects.

mod defaults;
mod list;
mod list_head;
#[cfg(test)]
mod tests;
mod typed;

pub use defaults::*;
pub use list::*;
pub use list_head::*;
pub use typed::*;
