//! What users do to objects while nothing is to do.

use std::fmt;

use super::field::FieldPath;
use crate::family::Family;

/// What happens to an object. The value follows from the schema of the field and from what is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum EditFault {
    /// Another value that the schema lets pass.
    Change,
    Remove,
    Empty,
    Zero,
    Negative,
    /// The largest number of the schema or of the type.
    Largest,
    /// The longest text of the schema, up to a limit.
    Long,
    /// Of an object that the operator has made.
    Overwrite,
    Label,
    WipeStatus,
}

/// An edit of an object after a step. After it the operator gets time, then it is taken back, and the run ends.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Edit {
    pub(crate) fault: EditFault,
    /// Empty for labels and for the status.
    pub(crate) path: FieldPath,
    /// Plural and group.
    pub(crate) resource: String,
    /// The name with its namespace, unless that is `default`, and with `*` in place of what is random.
    pub(crate) name: String,
    pub(crate) step: usize,
}

/// What stands before the object, and before that the path of the field if there is one.
const EDITS: [(EditFault, &str); 10] = [
    (EditFault::Change, "edit"),
    (EditFault::Remove, "remove"),
    (EditFault::Empty, "empty"),
    (EditFault::Zero, "zero"),
    (EditFault::Negative, "negative"),
    (EditFault::Largest, "largest"),
    (EditFault::Long, "long"),
    (EditFault::Overwrite, "overwrite"),
    (EditFault::Label, "another label"),
    (EditFault::WipeStatus, "wipe status"),
];

impl EditFault {
    /// What a plan begins with, for each.
    pub(super) fn phrases() -> impl Iterator<Item = &'static str> {
        EDITS.iter().map(|(_, phrase)| *phrase)
    }

    pub(crate) fn family(self) -> Family {
        match self {
            Self::Change | Self::Remove => Family::Change,
            Self::Empty | Self::Zero | Self::Negative | Self::Largest | Self::Long => Family::Extreme,
            Self::Overwrite => Family::ChildEdited,
            Self::Label => Family::Labels,
            Self::WipeStatus => Family::StatusWiped,
        }
    }

    fn has_path(self) -> bool {
        !matches!(self, Self::Label | Self::WipeStatus)
    }

    fn phrase(self) -> &'static str {
        EDITS.iter().find(|(other, _)| *other == self).map_or("", |(_, phrase)| phrase)
    }
}

impl fmt::Display for Edit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { fault, path, resource, name, step } = self;
        f.write_str(fault.phrase())?;
        if fault.has_path() {
            write!(f, " {path}")?;
        }
        write!(f, " of {resource} {name} after step {step}")
    }
}

/// The edit that a text says. `None` if it begins with none.
pub(super) fn parse(text: &str) -> Option<Result<Edit, String>> {
    let (fault, rest) = EDITS.iter().find_map(|(fault, phrase)| {
        let rest = text.strip_prefix(phrase)?.strip_prefix(' ')?;
        Some((*fault, rest))
    })?;
    let expected = || {
        let path = if fault.has_path() { " spec.text" } else { "" };
        let phrase = fault.phrase();
        format!("expected an edit such as `{phrase}{path} of pages.example.com a after step 1`, not {text:?}")
    };
    Some(read(fault, rest).ok_or_else(expected))
}

fn read(fault: EditFault, rest: &str) -> Option<Edit> {
    let words: Vec<&str> = rest.split(' ').collect();
    let (path, words) = match fault.has_path() {
        true => (FieldPath::parse(words.first()?)?, &words[1..]),
        false => (FieldPath::default(), &words[..]),
    };
    let ["of", resource, name, "after", "step", step] = words else { return None };
    let (resource, name) = ((*resource).to_owned(), (*name).to_owned());
    Some(Edit { fault, path, resource, name, step: step.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_are_read_as_they_are_written() {
        for (fault, phrase) in EDITS {
            let path = if fault.has_path() { " spec.rules[0].host" } else { "" };
            let text = format!("{phrase}{path} of pages.example.com shop/a-* after step 2");
            let edit = parse(&text).unwrap().unwrap();
            assert_eq!((edit.fault, edit.to_string()), (fault, text));
        }
    }

    #[test]
    fn what_is_no_edit_says_what_was_expected() {
        let error = |text: &str| parse(text).unwrap().unwrap_err();
        let expected = "expected an edit such as `edit spec.text of pages.example.com a after step 1`";
        for text in [
            "edit of pages a after step 1",
            "edit spec.text of pages after step 1",
            "edit spec.text of pages a",
            "edit spec.text of pages a after step one",
            "edit spec. of pages a after step 1",
        ] {
            assert!(error(text).starts_with(expected), "{text}");
        }
        let wipe = "expected an edit such as `wipe status of pages.example.com a after step 1`";
        assert!(error("wipe status spec.text of pages a after step 1").starts_with(wipe));
        assert_eq!(parse("lost answer of create pods a #1"), None);
    }
}
