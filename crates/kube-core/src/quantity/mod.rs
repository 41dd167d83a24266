//! Quantities of resources as numbers: parsed, compared, added, and printed in their canonical form.

mod syntax;
#[cfg(test)]
mod tests;
mod value;

pub use syntax::ParseQuantityError;
pub use value::Quantity;
