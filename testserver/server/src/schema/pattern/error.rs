//! Go's form of an error in a pattern.

/// What is wrong, and the part of the pattern.
pub(super) fn error(what: &str, part: &str) -> String {
    format!("{what}: `{part}`")
}
