//! Go's texts of errors in patterns, and how a literal character is written.

/// Go's form of an error: what is wrong, and the part of the pattern.
pub(super) fn error(what: &str, part: &str) -> String {
    format!("{what}: `{part}`")
}

/// A literal character.
pub(super) fn literal(c: char) -> String {
    regex::escape(c.encode_utf8(&mut [0; 4]))
}
