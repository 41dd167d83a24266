//! What a failed check says: where, what was expected, what was there.

use std::{fmt, panic::Location};

use serde::Serialize;
use serde_json::Value;

/// How a case ends.
pub(crate) type Outcome = Result<(), Failure>;

/// A failed check.
#[derive(Debug, Clone, Serialize)]
pub struct Failure {
    /// The request, or the thing that was looked at.
    pub what: String,
    /// What the rule asks for.
    pub expected: String,
    /// What the server did.
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

/// Both sides print the same; used for lists of names and the like.
#[track_caller]
pub(crate) fn equal(what: &str, want: impl fmt::Debug, got: impl fmt::Debug) -> Outcome {
    let (want, got) = (format!("{want:?}"), format!("{got:?}"));
    if want == got { Ok(()) } else { Err(Failure::new(what, want, got)) }
}

/// A condition, with what it means in words and what was found.
#[track_caller]
pub(crate) fn holds(condition: bool, expected: &str, actual: impl fmt::Display) -> Outcome {
    if condition { Ok(()) } else { Err(Failure::new("", expected.to_owned(), actual.to_string())) }
}

/// The value at a JSON pointer of an object that is at hand (an item, a watch event).
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
    const MOST: usize = 1500;
    let text = text.trim();
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}
