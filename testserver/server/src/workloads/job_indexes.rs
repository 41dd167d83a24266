//! The indexes of an Indexed Job, and their text: `1,3-5,7`.

use std::collections::BTreeSet;

use serde_json::Value;

/// The label and annotation with the index of a pod.
pub(super) const INDEX: &str = "batch.kubernetes.io/job-completion-index";

/// A set of indexes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Indexes(BTreeSet<usize>);

impl Indexes {
    /// Reads a text, up to this number of indexes. Parts that are not indexes are left out.
    pub(super) fn parse(text: &Value, completions: usize) -> Self {
        let mut all = BTreeSet::new();
        for part in text.as_str().unwrap_or_default().split(',') {
            let (from, to) = part.split_once('-').unwrap_or((part, part));
            if let (Ok(from), Ok(to)) = (from.parse::<usize>(), to.parse::<usize>()) {
                all.extend(from..=to.min(completions.saturating_sub(1)));
            }
        }
        Self(all)
    }

    pub(super) fn insert(&mut self, index: usize) -> bool {
        self.0.insert(index)
    }

    pub(super) fn has(&self, index: usize) -> bool {
        self.0.contains(&index)
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// How many of these are in another set.
    pub(super) fn count_in(&self, other: &Self) -> usize {
        self.0.intersection(&other.0).count()
    }

    /// The text, in which three and more in sequence are a range.
    pub(super) fn text(&self) -> String {
        let mut parts: Vec<String> = Vec::new();
        let mut rest = self.0.iter().copied().peekable();
        while let Some(from) = rest.next() {
            let mut to = from;
            while let Some(next) = rest.next_if_eq(&(to + 1)) {
                to = next;
            }
            parts.push(match to - from {
                0 => from.to_string(),
                1 => format!("{from},{to}"),
                _ => format!("{from}-{to}"),
            });
        }
        parts.join(",")
    }
}

/// The index of a pod.
pub(super) fn index_of(pod: &Value) -> Option<usize> {
    pod["metadata"]["annotations"][INDEX].as_str()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_read_and_written() {
        for text in ["", "0", "0,1", "0-2", "1,3-5,7", "0,2,4,5"] {
            assert_eq!(Indexes::parse(&text.into(), 10).text(), text);
        }
        assert_eq!(Indexes::parse(&"x,1-,3-1,8-4000000000,2".into(), 10).text(), "2,8,9");
        assert_eq!(Indexes::parse(&"0-2".into(), 3).count_in(&Indexes::parse(&"1-5".into(), 6)), 2);
    }
}
