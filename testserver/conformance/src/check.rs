//! Checks and their failures: location, expected and actual values.

use std::{fmt, panic::Location};

use serde::Serialize;
use serde_json::Value;

/// The result of a case.
pub(crate) type Outcome = Result<(), Failure>;

/// A failed check.
#[derive(Debug, Clone, Serialize)]
pub struct Failure {
    /// The request or value that was checked.
    pub what: String,
    /// The expected value.
    pub expected: String,
    /// The actual value.
    pub actual: String,
    /// File and line of the check.
    pub at: String,
}

impl Failure {
    #[track_caller]
    pub(crate) fn new(what: &str, expected: String, actual: String) -> Self {
        let at = Location::caller();
        Self { what: what.to_owned(), expected, actual, at: format!("{}:{}", at.file(), at.line()) }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "    in       {}  ({})", self.what, self.at)?;
        writeln!(f, "    expected {}", short(&self.expected))?;
        write!(f, "    actual   {}", short(&self.actual))
    }
}

/// Compares the debug output of both values.
#[track_caller]
pub(crate) fn equal(what: &str, want: impl fmt::Debug, got: impl fmt::Debug) -> Outcome {
    let (want, got) = (format!("{want:?}"), format!("{got:?}"));
    if want == got { Ok(()) } else { Err(Failure::new(what, want, got)) }
}

/// Checks a condition, described by `expected`.
#[track_caller]
pub(crate) fn holds(condition: bool, expected: &str, actual: impl fmt::Display) -> Outcome {
    if condition { Ok(()) } else { Err(Failure::new("", expected.to_owned(), actual.to_string())) }
}

/// Checks the value at a JSON pointer of an object.
#[track_caller]
pub(crate) fn at(object: &Value, pointer: &str, want: impl Into<Value>) -> Outcome {
    let (want, got) = (want.into(), object.pointer(pointer));
    if got == Some(&want) {
        Ok(())
    } else {
        Err(Failure::new(pointer, want.to_string(), format!("{got:?} in {object}")))
    }
}

fn short(text: &str) -> String {
    const MAX_CHARS: usize = 1500;
    let text = text.trim();
    match text.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}
