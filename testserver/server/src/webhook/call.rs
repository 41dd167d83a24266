//! A pending call to a webhook, and the responses that a request has got so far.

use std::time::Duration;

use serde_json::{Value, json};

use super::Address;

/// A pending call to a webhook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WebhookCall {
    pub(crate) address: Address,
    pub(crate) timeout: Duration,
    /// Identifies the call among those of the same request when the handler runs again. Contains nothing that differs between runs, such as
    /// the uid of the review.
    pub(crate) key: Value,
    /// The review, as sent.
    pub(crate) body: Value,
}

/// The webhook responses of one request so far.
#[derive(Debug, Default)]
pub(crate) struct WebhookResponses {
    recorded: Vec<(Value, Result<Value, String>)>,
    disabled: bool,
}

impl WebhookResponses {
    /// For the server's own writes: no webhook is called.
    pub(crate) fn disabled() -> Self {
        Self { disabled: true, ..Self::default() }
    }

    pub(crate) fn are_disabled(&self) -> bool {
        self.disabled
    }

    /// The `response` to a call, with the `uid` of its review, or why the call failed. `None`: not called yet.
    pub(crate) fn find(&self, key: &Value) -> Option<&Result<Value, String>> {
        self.recorded.iter().rev().find(|(recorded, _)| recorded == key).map(|(_, response)| response)
    }

    /// Records the result of a call, with the uid that the response must repeat.
    pub(crate) fn record(&mut self, call: WebhookCall, response: Result<Value, String>) {
        let uid = &call.body["request"]["uid"];
        self.recorded.push((call.key, response.map(|response| json!({"uid": uid, "response": response}))));
    }

    pub(crate) fn len(&self) -> usize {
        self.recorded.len()
    }
}
