use std::time::Duration;

use serde_json::{Value, json};

use super::Target;

/// What somebody outside is to be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Inquiry {
    /// Who is asked; the error says why nobody can be.
    pub(crate) target: Result<Target, String>,
    pub(crate) timeout: Duration,
    /// What tells the question from others of the same request, and finds its answer when the verb runs again. The uid of
    /// a review is not in it, nor is anything else that differs from run to run.
    pub(crate) key: Value,
    /// The review as it is sent.
    pub(crate) body: Value,
}

/// The answers that a request has got so far.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    known: Vec<(Value, Result<Value, String>)>,
    closed: bool,
}

impl Answers {
    /// Of a write that the server does by itself: nobody outside is asked about it.
    pub(crate) fn closed() -> Self {
        Self { closed: true, ..Self::default() }
    }

    pub(crate) fn are_closed(&self) -> bool {
        self.closed
    }

    /// The `answer` that came back, with the `uid` of what was asked, or why none did. `None`: nobody was asked yet.
    pub(crate) fn find(&self, key: &Value) -> Option<&Result<Value, String>> {
        self.known.iter().rev().find(|(known, _)| known == key).map(|(_, answer)| answer)
    }

    /// Keeps an answer, with the uid that it has to repeat.
    pub(crate) fn record(&mut self, inquiry: Inquiry, answer: Result<Value, String>) {
        let uid = &inquiry.body["request"]["uid"];
        self.known.push((inquiry.key, answer.map(|answer| json!({"uid": uid, "answer": answer}))));
    }

    pub(crate) fn len(&self) -> usize {
        self.known.len()
    }
}
