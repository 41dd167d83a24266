//! Collects the errors of one derive, and words those that several attributes have.

use proc_macro2::Span;
use syn::{Error, Result};

/// The errors found so far, to report all of them together.
#[derive(Default)]
pub(crate) struct Errors(Option<Error>);

impl Errors {
    /// Records an error.
    pub(crate) fn push(&mut self, error: Error) {
        match &mut self.0 {
            Some(errors) => errors.combine(error),
            None => self.0 = Some(error),
        }
    }

    /// The value, or `None` once its error is recorded.
    pub(crate) fn handle<T>(&mut self, result: Result<T>) -> Option<T> {
        result.map_err(|error| self.push(error)).ok()
    }

    /// All errors as one.
    pub(crate) fn finish(self) -> Result<()> {
        self.0.map_or(Ok(()), Err)
    }
}

impl Extend<Error> for Errors {
    fn extend<I: IntoIterator<Item = Error>>(&mut self, errors: I) {
        errors.into_iter().for_each(|error| self.push(error));
    }
}

/// A required name is missing.
pub(super) fn missing(span: Span, name: &str) -> Error {
    Error::new(span, format!("Missing field `{name}`"))
}

/// A name that no attribute has.
pub(super) fn unknown_field(span: Span, name: &str, known: &[&str]) -> Error {
    unknown(span, "field", name, known)
}

/// A text that is none of those possible.
pub(super) fn unknown_value(span: Span, text: &str, known: &[&str]) -> Error {
    unknown(span, "value", text, known)
}

fn unknown(span: Span, what: &str, text: &str, known: &[&str]) -> Error {
    let help = match nearest(text, known) {
        Some(name) => format!("Did you mean `{name}`?"),
        None => {
            let mut known = known.to_vec();
            known.sort_unstable();
            format!("Available values: `{}`", known.join("`, `"))
        }
    };
    Error::new(span, format!("Unknown {what}: `{text}`. {help}"))
}

/// The known text that was probably meant: at most every third character differs, or one is the beginning of the other.
fn nearest<'a>(text: &str, known: &[&'a str]) -> Option<&'a str> {
    let similar = |known: &str| {
        let distance = edit_distance(text, known);
        let begins = text.len() >= 3 && (known.starts_with(text) || text.starts_with(known));
        (begins || distance * 3 <= known.len()).then_some(distance)
    };
    let candidates = known.iter().filter_map(|known| Some((similar(known)?, *known)));
    candidates.min_by_key(|(distance, _)| *distance).map(|(_, known)| known)
}

/// The smallest number of characters to insert, remove or replace that makes the texts equal.
fn edit_distance(a: &str, b: &str) -> usize {
    // The distances of the beginning of `a` that was read so far from each beginning of `b`.
    let mut distances: Vec<usize> = (0..=b.chars().count()).collect();
    for of_a in a.chars() {
        let mut diagonal = distances[0];
        distances[0] += 1;
        for (n, of_b) in b.chars().enumerate() {
            let replaced = diagonal + usize::from(of_a != of_b);
            diagonal = distances[n + 1];
            distances[n + 1] = replaced.min(distances[n] + 1).min(diagonal + 1);
        }
    }
    distances[b.chars().count()]
}

#[cfg(test)]
mod tests {
    use super::{edit_distance, nearest};

    #[test]
    fn the_distance_counts_inserted_removed_and_replaced_characters() {
        for (a, b, distance) in [
            ("", "", 0),
            ("", "kind", 4),
            ("kind", "", 4),
            ("kind", "kind", 0),
            ("kinds", "kind", 1),
            ("knd", "kind", 1),
            ("kimd", "kind", 1),
            ("ikdn", "kind", 3),
            ("kitten", "sitting", 3),
            ("größe", "grösse", 2),
        ] {
            assert_eq!(edit_distance(a, b), distance, "{a} and {b}");
            assert_eq!(edit_distance(b, a), distance, "{b} and {a}");
        }
    }

    #[test]
    fn the_nearest_name_is_suggested_if_it_is_similar() {
        let known = ["annotation", "namespaced", "printcolumn", "scale", "shortname", "type_"];
        for (text, expected) in [
            ("shortnames", Some("shortname")),
            ("namespace", Some("namespaced")),
            ("scaled", Some("scale")),
            ("typ", Some("type_")),
            ("print_column", Some("printcolumn")),
            ("Scale", Some("scale")),
            ("ty", None),
            ("", None),
            ("finalizer", None),
        ] {
            assert_eq!(nearest(text, &known), expected, "{text}");
        }
        assert_eq!(nearest("storage_", &["served", "storage"]), Some("storage"));
        assert_eq!(nearest("kind", &[]), None);
    }
}
