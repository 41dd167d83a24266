//! What a handler returns: allowed, changed or denied.

use std::fmt;

use kube_core::response::{Status, StatusCause, StatusDetails, reason};

/// Allows an operation. Made from `()`, it has no warnings.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube_core::admission::AdmissionRequest;
/// use kube_operator::webhook::{Allowed, Denial};
///
/// async fn check(request: AdmissionRequest<ConfigMap>) -> Result<Allowed, Denial> {
///     match request.object {
///         Some(map) if map.data.is_none() => Ok(Allowed::default().warning("the ConfigMap is empty")),
///         _ => Ok(().into()),
///     }
/// }
/// let _ = kube_operator::webhook::Webhooks::new().validate(check);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Allowed {
    pub(super) warnings: Vec<String>,
}

impl Allowed {
    /// Adds a warning for the client, best below 120 characters. The API server truncates it at 256, and drops those beyond 4096
    /// characters in total over all webhooks.
    #[must_use]
    pub fn warning(mut self, text: impl Into<String>) -> Self {
        self.warnings.push(text.into());
        self
    }
}

impl From<()> for Allowed {
    fn from((): ()) -> Self {
        Self::default()
    }
}

/// The object that a mutating handler returns, changed or not. Made from the object, it has no warnings.
#[derive(Clone, Debug, PartialEq)]
pub struct Mutated<K> {
    pub(super) object: K,
    pub(super) warnings: Vec<String>,
}

impl<K> Mutated<K> {
    /// Adds a warning for the client: see [`Allowed::warning`].
    #[must_use]
    pub fn warning(mut self, text: impl Into<String>) -> Self {
        self.warnings.push(text.into());
        self
    }
}

impl<K> From<K> for Mutated<K> {
    fn from(object: K) -> Self {
        Self { object, warnings: Vec::new() }
    }
}

/// The object of a review.
pub(super) struct Identity {
    pub(super) group: String,
    pub(super) kind: String,
    pub(super) name: String,
}

/// Denies an operation: the status that the API server passes on to its client.
///
/// A text becomes a denial with code 403 `Forbidden`, so a handler may return `Result<(), String>`. An error of the client becomes
/// code 500 `InternalError`, so `?` works on calls to the API server.
///
/// ```
/// use kube_operator::webhook::Denial;
///
/// let denial = Denial::new("pages are read-only today");
/// assert_eq!(denial.to_string(), "pages are read-only today");
/// assert_eq!(denial.status().code, 403);
///
/// let denial = Denial::invalid("spec.size", "must be at least 1").and("spec.title", "must not be empty");
/// assert_eq!(denial.to_string(), "spec.size: must be at least 1; spec.title: must not be empty");
/// assert_eq!(denial.status().code, 422);
/// assert_eq!(denial.status().details.as_ref().map(|details| details.causes.len()), Some(2));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Denial {
    pub(super) status: Box<Status>,
    pub(super) warnings: Vec<String>,
}

impl Denial {
    /// Denied with code 403 and reason `Forbidden`.
    pub fn new(message: impl Into<String>) -> Self {
        Self::with_status(Status::failure(&message.into(), reason::FORBIDDEN).with_code(403))
    }

    /// A field with an invalid value, by its path such as `spec.ports[0].port`: denied with code 422 and reason `Invalid`. The message
    /// lists all fields; `kubectl` prints it. The response begins with kind and name, as those of API servers do:
    /// `Page.example.com "home" is invalid: spec.size: must be at least 1`.
    pub fn invalid(field: impl Into<String>, message: impl Into<String>) -> Self {
        let details = StatusDetails {
            name: String::new(),
            group: String::new(),
            kind: String::new(),
            uid: String::new(),
            causes: Vec::new(),
            retry_after_seconds: 0,
        };
        let status = Status::failure("", reason::INVALID).with_code(422).with_details(details);
        Self::with_status(status).and(field, message)
    }

    /// Another invalid field.
    #[must_use]
    pub fn and(mut self, field: impl Into<String>, message: impl Into<String>) -> Self {
        let (field, message) = (field.into(), message.into());
        let glue = if self.status.message.is_empty() { "" } else { "; " };
        self.status.message += &format!("{glue}{field}: {message}");
        if let Some(details) = &mut self.status.details {
            details.causes.push(StatusCause { reason: "FieldValueInvalid".into(), message, field });
        }
        self
    }

    /// The webhook could not decide: denied with code 500 and reason `InternalError`, whatever the `failurePolicy`.
    pub fn internal(error: impl fmt::Display) -> Self {
        Self::with_status(Status::failure(&error.to_string(), reason::INTERNAL_ERROR).with_code(500))
    }

    /// A status of the handler's own. The API server replaces a code below 400 by 400.
    pub fn with_status(status: Status) -> Self {
        Self { status: status.boxed(), warnings: Vec::new() }
    }

    /// Adds a warning for the client: see [`Allowed::warning`].
    #[must_use]
    pub fn warning(mut self, text: impl Into<String>) -> Self {
        self.warnings.push(text.into());
        self
    }

    /// An [`invalid`](Self::invalid) denial, with the object that it is about.
    pub(super) fn about(mut self, object: Identity) -> Self {
        let Identity { group, kind, name } = object;
        let unnamed = |details: &&mut StatusDetails| details.kind.is_empty() && !details.causes.is_empty();
        if self.status.reason == reason::INVALID
            && let Some(details) = self.status.details.as_mut().filter(unnamed)
        {
            let glue = if group.is_empty() { "" } else { "." };
            self.status.message = format!("{kind}{glue}{group} {name:?} is invalid: {}", self.status.message);
            (details.group, details.kind, details.name) = (group, kind, name);
        }
        self
    }

    /// The status in the response, without the object that it is about.
    pub fn status(&self) -> &Status {
        &self.status
    }
}

impl fmt::Display for Denial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.status.message)
    }
}

impl std::error::Error for Denial {}

impl From<String> for Denial {
    fn from(message: String) -> Self {
        Self::new(message)
    }
}

impl From<&str> for Denial {
    fn from(message: &str) -> Self {
        Self::new(message)
    }
}

impl From<kube_client::Error> for Denial {
    fn from(error: kube_client::Error) -> Self {
        Self::internal(error)
    }
}
