//! Objects put together from parts, and lists of objects.

mod absent;
mod defaults;
mod list;
#[cfg(test)]
mod tests;
mod typed;

pub use defaults::*;
pub use list::*;
pub use typed::*;
