//! A table in a text: a line for each name, in the order of the names' bytes, so that a line is found without an index. What a program
//! never asks for costs it nothing.

use std::{cmp::Ordering, collections::BTreeMap};

use memchr::{memchr, memrchr};
use parking_lot::Mutex;

/// A table of names; each line is parsed when it is first asked for, and once per process.
pub(crate) struct TextTable<T: 'static> {
    text: &'static str,
    parse: fn(&'static str, &'static str) -> T,
    entries: Mutex<BTreeMap<&'static str, &'static T>>,
}

impl<T> TextTable<T> {
    /// `parse` gets a name and what follows it in its line, after a space or a tab.
    pub(crate) const fn new(text: &'static str, parse: fn(&'static str, &'static str) -> T) -> Self {
        Self { text, parse, entries: Mutex::new(BTreeMap::new()) }
    }

    pub(crate) fn get(&self, name: &str) -> Option<&'static T> {
        if let Some(entry) = self.entries.lock().get(name) {
            return Some(entry);
        }
        let (name, rest) = find(self.text, name)?;
        let parse = || &*Box::leak(Box::new((self.parse)(name, rest)));
        Some(*self.entries.lock().entry(name).or_insert_with(parse))
    }

    /// All names, in order.
    #[cfg(test)]
    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> + use<T> {
        self.text.lines().map(|line| split(line).0)
    }
}

/// The line of a name, found by halving the text.
fn find<'a>(text: &'a str, name: &str) -> Option<(&'a str, &'a str)> {
    let bytes = text.as_bytes();
    let (mut start, mut end) = (0, text.len()); // both at the begin of a line, or at the end of the text
    while start < end {
        let middle = start + (end - start) / 2;
        let from = memrchr(b'\n', &bytes[start..middle]).map_or(start, |at| start + at + 1);
        let to = memchr(b'\n', &bytes[middle..end]).map_or(end, |at| middle + at + 1);
        let (present, rest) = split(text[from..to].trim_end_matches('\n'));
        match present.cmp(name) {
            Ordering::Less => start = to,
            Ordering::Equal => return Some((present, rest)),
            Ordering::Greater => end = from,
        }
    }
    None
}

fn split(line: &str) -> (&str, &str) {
    line.split_once([' ', '\t']).unwrap_or((line, ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_found_and_nothing_else() {
        let text = "a one word\nab\nb\tä\nversion x y";
        assert_eq!(find(text, "a"), Some(("a", "one word")));
        assert_eq!(find(text, "ab"), Some(("ab", "")));
        assert_eq!(find(text, "b"), Some(("b", "ä")));
        assert_eq!(find(text, "version"), Some(("version", "x y")));
        for name in ["", "A", "aa", "abc", "c", "z"] {
            assert_eq!(find(text, name), None, "{name}");
        }
        assert_eq!(find("", "a"), None);
    }

    #[test]
    fn a_line_is_parsed_once() {
        static TABLE: TextTable<String> =
            TextTable::new("a one\nb two\n", |name, rest| format!("{name}: {rest}"));
        assert_eq!(TABLE.get("b").unwrap(), "b: two");
        assert!(std::ptr::eq(TABLE.get("b").unwrap(), TABLE.get("b").unwrap()));
        assert!(TABLE.get("c").is_none());
        assert_eq!(TABLE.names().collect::<Vec<_>>(), ["a", "b"]);
    }
}
