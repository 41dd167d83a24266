//! The trait for matching selectors against labels.

/// Matching against a map of labels, for [`Expression`](crate::Expression) and [`Selector`](crate::Selector). Sealed: other
/// types cannot implement it.
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
pub trait SelectorExt: Sealed {
    /// The labels of an object, key to value.
    type Search;

    /// Whether `on` matches, by the same rules as on the server. Costs one map lookup per condition and no allocation.
    fn matches(&self, on: &Self::Search) -> bool;
}

/// Keeps [`SelectorExt`] to this crate's implementations.
pub trait Sealed {}
