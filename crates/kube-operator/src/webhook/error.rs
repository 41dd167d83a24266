//! Why webhooks cannot be served or configured together.

use std::time::Duration;

/// The webhooks cannot be served together.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube_core::admission::AdmissionRequest;
/// use kube_operator::webhook::Webhooks;
///
/// async fn check(_: AdmissionRequest<ConfigMap>) -> Result<(), String> {
///     Ok(())
/// }
/// let error = Webhooks::new().validate(check).validate(check).router().expect_err("one path twice");
/// assert_eq!(error.to_string(), "two webhooks have the path /validate--v1-configmap: set another with validate_at, mutate_at or conversion_path");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WebhooksError {
    /// Two handlers have one path.
    #[error("two webhooks have the path {0}: set another with validate_at, mutate_at or conversion_path")]
    DuplicatePath(String),
    /// A path is none.
    #[error(
        "the webhook path {0:?} is invalid: expected \"/\" and letters, digits, \"-\", \"_\", \".\" or \"/\""
    )]
    InvalidPath(String),
    /// Two conversions are for one kind.
    #[error("two conversions are for {0}: expected one per kind, with all its versions")]
    DuplicateConversion(String),
    /// A registration is for a path without a handler.
    #[error("the registration of {path} is for no webhook: expected one of {expected}")]
    UnknownPath {
        /// The path.
        path: String,
        /// The paths of the admission webhooks.
        expected: String,
    },
    /// Nothing says which objects a webhook is for.
    #[error("the webhook {0} is for any kind, so its objects are unknown: expected Registration::resources")]
    NoResources(String),
    /// An API server would refuse the timeout.
    #[error("the timeout of the webhook {path} is {timeout:?}: expected whole seconds from 1 to 30")]
    InvalidTimeout {
        /// The path.
        path: String,
        /// What was given.
        timeout: Duration,
    },
    /// A webhook that refuses what it cannot review is for the operator's own namespace, so that no replica could start.
    #[error(
        "the webhook {path} reviews {needed} in {namespace}, the namespace of the operator, which needs them in order to start: expected \
         another namespace, or FailurePolicy::Ignore"
    )]
    BlocksItself {
        /// The path.
        path: String,
        /// The resource.
        needed: String,
        /// The namespace.
        namespace: String,
    },
}
