//! Label selectors: build, parse, print and match them.

mod expression;
mod ext;
mod parse;
mod selector;
#[cfg(test)]
mod tests;

pub use expression::*;
pub use ext::SelectorExt;
pub use selector::*;
