//! Label selectors: build, parse, print and match them.

mod expression;
mod parse;
mod selector;
#[cfg(test)]
mod tests;

pub use expression::*;
pub use selector::*;

/// What can be matched against a map of labels: an [`Expression`] or a [`Selector`]. No other type can be made so.
///
/// ```
/// use k8s_openapi::api::core::v1::Pod;
/// use kube_core::{ResourceExt, Selector, SelectorExt};
///
/// let selector: Selector = "app in (web, api), !canary".parse()?;
/// let mut pod = Pod::default();
/// pod.labels_mut().insert("app".into(), "web".into());
/// assert!(selector.matches(pod.labels()));
/// pod.labels_mut().insert("canary".into(), String::new());
/// assert!(!selector.matches(pod.labels()));
/// # Ok::<(), kube_core::ParseExpressionError>(())
/// ```
pub trait SelectorExt: private::Sealed {
    /// What is matched: the labels of an object, key to value.
    type Search;

    /// Whether `on` matches, by the rules of the server. One look-up in the map per condition, nothing is allocated.
    fn matches(&self, on: &Self::Search) -> bool;
}

mod private {
    /// Keeps [`SelectorExt`](super::SelectorExt) to this crate's implementations.
    pub trait Sealed {}

    impl Sealed for super::Expression {}
    impl Sealed for super::Selector {}
}
