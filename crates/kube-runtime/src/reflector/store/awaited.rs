//! What a wait for a store waits for, and which states of an object fulfil it.

use crate::version::parse;

/// What a wait waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Awaited {
    /// This state of the object, or a later one.
    State {
        uid: Option<Box<str>>,
        version: Box<str>,
        /// Whether the object was visible when the wait began. If so, its absence is a later state.
        was_visible: bool,
    },
    /// The deletion of the objects with these uids.
    End { uids: Vec<Box<str>> },
}

/// The state of an object that readers see.
#[derive(Debug, Clone, Copy)]
pub(super) struct Visible<'a> {
    pub(super) uid: Option<&'a str>,
    pub(super) version: Option<&'a str>,
}

impl Awaited {
    /// Whether the state that readers see ends the wait.
    pub(super) fn is_met(&self, visible: Option<Visible<'_>>) -> bool {
        match (self, visible) {
            (_, Some(visible)) => self.is_met_by(visible, false),
            (Self::State { was_visible, .. }, None) => *was_visible,
            (Self::End { .. }, None) => true,
        }
    }

    pub(super) fn is_met_by(&self, Visible { uid, version }: Visible<'_>, deleted: bool) -> bool {
        match self {
            Self::State { uid: expected, version: expected_version, .. } => {
                let same = expected.is_none() || expected.as_deref() == uid;
                // Versions of one object can be compared if they are numbers, even where those of different objects cannot.
                let later = || {
                    expected.is_some()
                        && parse(expected_version).is_some_and(|it| version.and_then(parse) >= Some(it))
                };
                same && (deleted || version == Some(&**expected_version) || later())
            }
            Self::End { uids } => deleted || uid.is_some_and(|uid| uids.iter().all(|ended| **ended != *uid)),
        }
    }
}
