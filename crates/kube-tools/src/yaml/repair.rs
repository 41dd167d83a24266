//! [`repaired`]: what kubectl's parser accepts and ours refuses, written so that ours accepts it.

use granit_parser::{ErrorKind, ScanError};

/// The text with a change where the parser stopped, if kubectl's would have gone on: it takes a comment without a space before it, behind
/// quotes and brackets, and tabs at the begin of lines in brackets. `in_brackets`: the parser was in a list or mapping in brackets.
pub(super) fn repaired(text: &str, error: &ScanError, in_brackets: bool) -> Option<String> {
    let at = error.marker().byte_offset()?;
    let (before, after) = (text.get(..at)?, text.get(at..)?);
    match error.kind() {
        ErrorKind::CommentNotSeparated if after.starts_with('#') => Some(format!("{before} {after}")),
        ErrorKind::TabInBlockIndentation if in_brackets || ends_open(before) => {
            let line = before.rfind('\n').map_or(0, |end| end + 1);
            Some(format!("{}{}", &text[..line], without_leading_tabs(&text[line..])))
        }
        _ => None,
    }
}

/// Whether what is before the tabs of a line has just opened a bracket, or begun an item: the parser may not have said so yet.
fn ends_open(before: &str) -> bool {
    before.trim_end().ends_with(['{', '[', ','])
}

/// Of the first line, and of those after it that begin with a tab too.
fn without_leading_tabs(text: &str) -> String {
    let mut is_among = true;
    let lines = text.split_inclusive('\n').enumerate().flat_map(|(number, line)| {
        is_among = is_among && (number == 0 || line.starts_with('\t'));
        let blank = line.len() - line.trim_start_matches([' ', '\t']).len();
        let (blank, rest) = line.split_at(if is_among { blank } else { 0 });
        [" ".repeat(blank.len()), rest.to_owned()]
    });
    lines.collect()
}
