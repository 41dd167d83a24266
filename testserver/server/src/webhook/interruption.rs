//! Why a handler ended without a response: a refusal, or a webhook that has to be called first.

use super::WebhookCall;
use crate::{status_error::StatusError, storage::WriteError};

/// Why a handler ended without a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Interruption {
    /// The request is refused.
    Refused(StatusError),
    /// The handler has to run again, with the response of this webhook.
    NeedsWebhook(Box<WebhookCall>),
}

impl Interruption {
    /// Adds `Warning` headers to a refusal. A handler that runs again collects them again.
    pub(crate) fn warning(self, warnings: &[String]) -> Self {
        match self {
            Self::Refused(error) => Self::Refused(error.warning(warnings)),
            Self::NeedsWebhook(call) => Self::NeedsWebhook(call),
        }
    }
}

impl From<StatusError> for Interruption {
    fn from(error: StatusError) -> Self {
        Self::Refused(error)
    }
}

impl From<WriteError> for Interruption {
    fn from(error: WriteError) -> Self {
        Self::Refused(error.into())
    }
}

impl From<WebhookCall> for Interruption {
    fn from(call: WebhookCall) -> Self {
        Self::NeedsWebhook(Box::new(call))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::{Value, json};

    use super::*;
    use crate::webhook::Address;

    #[test]
    fn warnings_are_added_to_refusals_only() {
        let call = WebhookCall {
            address: Address { service: None, target: Err("no address".into()) },
            timeout: Duration::from_secs(1),
            key: json!({"hook": "a"}),
            body: Value::Null,
        };
        let needed = Interruption::from(call.clone());
        assert_eq!(needed.warning(&["deprecated".into()]), Interruption::NeedsWebhook(Box::new(call)));

        let refused = Interruption::from(StatusError::bad_request("no")).warning(&["deprecated".into()]);
        assert_eq!(
            refused,
            Interruption::Refused(StatusError::bad_request("no").warning(&["deprecated".into()]))
        );
    }
}
