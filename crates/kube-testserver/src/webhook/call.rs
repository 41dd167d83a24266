use std::time::Duration;

use serde_json::{Value, json};

use super::Target;

/// What somebody outside is to be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WebhookCall {
    /// Who is asked; the error says why nobody can be.
    pub(crate) target: Result<Target, String>,
    pub(crate) timeout: Duration,
    /// What tells the question from others of the same request, and finds its response when the verb runs again. The uid of
    /// a review is not in it, nor is anything else that differs from run to run.
    pub(crate) key: Value,
    /// The review as it is sent.
    pub(crate) body: Value,
}

/// The answers that a request has got so far.
#[derive(Debug, Default)]
pub(crate) struct WebhookResponses {
    known: Vec<(Value, Result<Value, String>)>,
    disabled: bool,
}

impl WebhookResponses {
    /// Of a write that the server does by itself: nobody outside is asked about it.
    pub(crate) fn disabled() -> Self {
        Self { disabled: true, ..Self::default() }
    }

    pub(crate) fn are_disabled(&self) -> bool {
        self.disabled
    }

    /// The `response` that came back, with the `uid` of what was asked, or why none did. `None`: nobody was asked yet.
    pub(crate) fn find(&self, key: &Value) -> Option<&Result<Value, String>> {
        self.known.iter().rev().find(|(known, _)| known == key).map(|(_, response)| response)
    }

    /// Keeps an response, with the uid that it has to repeat.
    pub(crate) fn record(&mut self, inquiry: WebhookCall, response: Result<Value, String>) {
        let uid = &inquiry.body["request"]["uid"];
        self.known.push((inquiry.key, response.map(|response| json!({"uid": uid, "answer": response}))));
    }

    pub(crate) fn len(&self) -> usize {
        self.known.len()
    }
}
