//! Label selectors: build, parse, print and match them.

mod expression;
mod parse;
mod selector;
#[cfg(test)]
mod tests;

pub use expression::*;
pub use selector::*;

/// What can be matched against a map of labels.
pub trait SelectorExt: private::Sealed {
    /// What is matched.
    type Search;

    /// Whether `on` matches.
    fn matches(&self, on: &Self::Search) -> bool;
}

mod private {
    /// Keeps [`SelectorExt`](super::SelectorExt) to this crate's implementations.
    pub trait Sealed {}

    impl Sealed for super::Expression {}
    impl Sealed for super::Selector {}
}
