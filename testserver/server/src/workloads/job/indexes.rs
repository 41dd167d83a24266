//! The indexes of an Indexed Job, and their text: `1,3-5,7`.

use std::{collections::BTreeMap, iter::once};

use serde_json::Value;

/// The label and annotation with the index of a pod.
pub(super) const INDEX: &str = "batch.kubernetes.io/job-completion-index";

/// A set of indexes: the first and the last of each range, which never touch each other. A Job may have 2³¹ indexes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Indexes(BTreeMap<usize, usize>);

impl Indexes {
    /// Reads a text, up to this number of indexes. Parts that are not indexes are left out.
    pub(super) fn parse(text: &Value, completions: usize) -> Self {
        let mut all = Self::default();
        let Some(last) = completions.checked_sub(1) else { return all };
        for part in text.as_str().unwrap_or_default().split(',') {
            let (from, to) = part.split_once('-').unwrap_or((part, part));
            if let (Ok(from), Ok(to)) = (from.parse(), to.parse::<usize>()) {
                all.insert_range(from, to.min(last));
            }
        }
        all
    }

    pub(super) fn insert(&mut self, index: usize) {
        self.insert_range(index, index);
    }

    /// Adds those of another set.
    pub(super) fn extend(&mut self, other: &Self) {
        other.0.iter().for_each(|(from, to)| self.insert_range(*from, *to));
    }

    fn insert_range(&mut self, mut from: usize, mut to: usize) {
        if from > to {
            return;
        }
        // It joins the ranges that it touches.
        while let Some((first, last)) = self.range_up_to(to.saturating_add(1))
            && last.saturating_add(1) >= from
        {
            self.0.remove(&first);
            (from, to) = (from.min(first), to.max(last));
        }
        self.0.insert(from, to);
    }

    /// The last range that begins with this index or before it.
    fn range_up_to(&self, index: usize) -> Option<(usize, usize)> {
        self.0.range(..=index).next_back().map(|(from, to)| (*from, *to))
    }

    pub(super) fn has(&self, index: usize) -> bool {
        self.range_up_to(index).is_some_and(|(_, to)| index <= to)
    }

    pub(super) fn len(&self) -> usize {
        self.0.iter().map(|(from, to)| to - from + 1).sum()
    }

    /// How many of these are in another set.
    pub(super) fn count_in(&self, other: &Self) -> usize {
        let shared = |(from, to): (&usize, &usize)| {
            let ranges = other.0.range(..=to).rev().take_while(|(_, last)| *last >= from);
            ranges.map(|(first, last)| last.min(to) - first.max(from) + 1).sum::<usize>()
        };
        self.0.iter().map(shared).sum()
    }

    /// The indexes of a Job with so many completions that are not among these.
    pub(super) fn others(&self, completions: usize) -> impl Iterator<Item = usize> {
        let starts = once(0).chain(self.0.values().map(|to| to.saturating_add(1)));
        let ends = self.0.keys().copied().chain(once(completions));
        starts.zip(ends).flat_map(move |(start, end)| start..end.min(completions))
    }

    /// The text, in which three and more in sequence are a range.
    pub(super) fn text(&self) -> String {
        let parts = self.0.iter().map(|(from, to)| match to - from {
            0 => from.to_string(),
            1 => format!("{from},{to}"),
            _ => format!("{from}-{to}"),
        });
        parts.collect::<Vec<_>>().join(",")
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
        assert_eq!(Indexes::parse(&"0".into(), 0).len(), 0);
    }

    /// Compares with sets that hold each number, for all sets of a few indexes.
    #[test]
    fn ranges_are_sets_of_indexes() {
        use std::collections::BTreeSet;
        const SIZE: usize = 6;
        let sets = (0..1_usize << SIZE).map(|bits| (0..SIZE).filter(move |at| bits >> at & 1 == 1));
        let sets: Vec<BTreeSet<usize>> = sets.map(Iterator::collect).collect();
        let ranges = |set: &BTreeSet<usize>| {
            let mut ranges = Indexes::default();
            // In an order in which ranges meet from both sides.
            for index in set.iter().filter(|at| *at % 2 == 0).chain(set.iter().rev()) {
                ranges.insert(*index);
            }
            ranges
        };
        for set in &sets {
            let these = ranges(set);
            assert_eq!((these.len(), &these), (set.len(), &Indexes::parse(&these.text().into(), SIZE)));
            assert!((0..SIZE).all(|index| these.has(index) == set.contains(&index)), "{set:?}");
            let others: Vec<usize> = (0..4).filter(|index| !set.contains(index)).collect();
            assert_eq!(these.others(4).collect::<Vec<_>>(), others, "{set:?}");
            for other in &sets {
                let mut both = these.clone();
                both.extend(&ranges(other));
                assert_eq!(both, ranges(&set.union(other).copied().collect()), "{set:?} and {other:?}");
                assert_eq!(these.count_in(&ranges(other)), set.intersection(other).count());
            }
        }
    }
}
