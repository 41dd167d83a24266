//! The three-way merge of two sets of files into the user's.

use std::collections::BTreeSet;

use diffy::{ConflictStyle, MergeOptions};

use super::templates::Files;

/// What becomes of the user's files.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Merged {
    /// Files that change, with their new texts; `None` for those that are removed.
    pub(super) changes: Vec<(String, Option<String>)>,
    /// Changed files with conflict markers.
    pub(super) conflicts: Vec<String>,
    /// Files that the user has removed, or that are no longer in the template but were changed: they are left as they are.
    pub(super) left: Vec<String>,
}

/// Brings the changes from `base` to `theirs` into `ours`.
pub(super) fn merge(base: &Files, ours: &Files, theirs: &Files) -> Merged {
    let mut merged = Merged::default();
    let paths: BTreeSet<_> = base.keys().chain(theirs.keys()).collect();
    for path in paths {
        let (base, ours, theirs) = (base.get(path), ours.get(path), theirs.get(path));
        if base == theirs || ours == theirs {
            continue;
        }
        match (base, ours, theirs) {
            (None, None, Some(theirs)) => merged.changes.push((path.clone(), Some(theirs.clone()))),
            (Some(base), Some(ours), None) if base == ours => merged.changes.push((path.clone(), None)),
            (_, Some(ours), Some(theirs)) => {
                let text = merge_text(base.map_or("", String::as_str), ours, theirs);
                if text.is_err() {
                    merged.conflicts.push(path.clone());
                }
                let text = text.unwrap_or_else(|conflict| conflict);
                if text != *ours {
                    merged.changes.push((path.clone(), Some(text)));
                }
            }
            _ => merged.left.push(path.clone()),
        }
    }
    merged
}

/// An error is the text with conflict markers.
fn merge_text(base: &str, ours: &str, theirs: &str) -> Result<String, String> {
    let mut options = MergeOptions::new();
    options.set_conflict_style(ConflictStyle::Merge);
    options.merge(base, ours, theirs)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(all: &[(&str, &str)]) -> Files {
        all.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect()
    }

    #[test]
    fn changes_of_both_sides_are_kept() {
        let base = files(&[("a", "1\n2\n3\n4\n5\n"), ("same", "x\n"), ("gone", "x\n"), ("edited", "x\n")]);
        let ours =
            files(&[("a", "1\nmine\n2\n3\n4\n5\n"), ("same", "y\n"), ("gone", "x\n"), ("edited", "y\n")]);
        let theirs = files(&[("a", "1\n2\n3\n4\nfive\n"), ("same", "x\n"), ("new", "n\n")]);
        let merged = merge(&base, &ours, &theirs);
        let expected = [("a", Some("1\nmine\n2\n3\n4\nfive\n")), ("gone", None), ("new", Some("n\n"))];
        let expected = expected.map(|(path, text)| (path.to_owned(), text.map(str::to_owned)));
        assert_eq!(merged.changes, expected);
        assert_eq!((merged.conflicts, merged.left), (vec![], vec!["edited".to_owned()]));
    }

    #[test]
    fn a_conflict_has_markers_and_names_the_file() {
        let base = files(&[("a", "1\n2\n"), ("removed", "x\n")]);
        let ours = files(&[("a", "1\nmine\n"), ("new", "mine\n")]);
        let theirs = files(&[("a", "1\ntheirs\n"), ("removed", "y\n"), ("new", "theirs\n")]);
        let merged = merge(&base, &ours, &theirs);
        assert_eq!(merged.conflicts, ["a", "new"]);
        assert_eq!(merged.left, ["removed"], "what the user has removed stays so");
        let text = merged.changes[0].1.as_deref().unwrap();
        assert_eq!(text, "1\n<<<<<<< ours\nmine\n=======\ntheirs\n>>>>>>> theirs\n");
    }

    #[test]
    fn the_same_change_on_both_sides_is_no_conflict() {
        let (base, changed) = (files(&[("a", "1\n")]), files(&[("a", "2\n")]));
        assert_eq!(merge(&base, &changed, &changed), Merged::default());
        assert_eq!(merge(&base, &base, &base), Merged::default());
    }
}
