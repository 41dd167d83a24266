//! An error response: status code and the content of the `Status` body.

use std::borrow::Cow;

use http::StatusCode;
use serde_json::{Map, Value, json};

/// An error response: the HTTP status code and the content of the `Status` body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StatusError {
    pub(crate) code: StatusCode,
    /// `NotFound`, `Conflict`, ...; empty where Kubernetes leaves it out.
    pub(crate) reason: Cow<'static, str>,
    pub(crate) message: String,
    pub(crate) details: Option<Box<Details>>,
    /// Sent as `metadata.continue`: continues an expired list from the newest state.
    pub(crate) resume: Option<String>,
    /// Sent as `Warning` headers.
    pub(crate) warnings: Vec<String>,
}

/// The `details` of a `Status`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Details {
    pub(crate) name: String,
    pub(crate) group: String,
    /// A kind (`ConfigMap`) or a resource (`configmaps`), as Kubernetes does in the same place.
    pub(crate) kind: String,
    pub(crate) uid: String,
    pub(crate) causes: Vec<Cause>,
    pub(crate) retry_after_seconds: u64,
}

/// One of the `causes` of a `Status`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cause {
    pub(crate) reason: String,
    pub(crate) message: String,
    pub(crate) field: String,
}

impl StatusError {
    pub(crate) fn new(
        code: StatusCode,
        reason: impl Into<Cow<'static, str>>,
        message: impl Into<String>,
    ) -> Self {
        Self {
            code,
            reason: reason.into(),
            message: message.into(),
            details: None,
            resume: None,
            warnings: Vec::new(),
        }
    }

    /// Adds `Warning` headers.
    pub(crate) fn warning(mut self, warnings: &[String]) -> Self {
        self.warnings.extend_from_slice(warnings);
        self
    }

    pub(crate) fn about(mut self, details: Details) -> Self {
        self.details = Some(Box::new(details));
        self
    }

    /// The `Status` object.
    pub(crate) fn status(&self) -> Value {
        let mut metadata = Map::new();
        if let Some(token) = &self.resume {
            metadata.insert("continue".into(), token.as_str().into());
        }
        let mut status = json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": metadata,
            "status": "Failure",
            "message": self.message,
            "code": self.code.as_u16(),
        });
        if !self.reason.is_empty() {
            status["reason"] = self.reason.as_ref().into();
        }
        if let Some(details) = &self.details {
            status["details"] = details.to_value();
        }
        status
    }
}

impl Details {
    pub(crate) fn to_value(&self) -> Value {
        let mut out = Map::new();
        for (key, value) in
            [("name", &self.name), ("group", &self.group), ("kind", &self.kind), ("uid", &self.uid)]
        {
            if !value.is_empty() {
                out.insert(key.into(), value.as_str().into());
            }
        }
        if !self.causes.is_empty() {
            out.insert("causes".into(), self.causes.iter().map(Cause::to_value).collect());
        }
        if self.retry_after_seconds > 0 {
            out.insert("retryAfterSeconds".into(), self.retry_after_seconds.into());
        }
        Value::Object(out)
    }
}

impl Cause {
    fn to_value(&self) -> Value {
        let mut out = Map::new();
        for (key, value) in [("reason", &self.reason), ("message", &self.message), ("field", &self.field)] {
            if !value.is_empty() {
                out.insert(key.into(), value.as_str().into());
            }
        }
        Value::Object(out)
    }
}
