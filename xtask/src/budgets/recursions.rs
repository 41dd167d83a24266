//! Circles of files that are in the nature of their task, such as a codec whose messages contain messages.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result};

use crate::paths;

/// The circles that are not in the list, and the entries of the list that are no circle.
pub(super) fn unlisted(circles: &[Vec<&str>], list: &str) -> Result<Vec<String>> {
    let mut entries = parse(list)?;
    let mut wrong = Vec::new();
    for files in circles {
        let files = files.join(" ");
        if entries.remove(&*files).is_none() {
            wrong.push(format!("files in a circle: {files}"));
        }
    }
    wrong.extend(entries.keys().map(|files| format!("{}: no circle of {files}", paths::RECURSIONS)));
    Ok(wrong)
}

/// One circle a line: its files in the order of the alphabet, a colon, the reason. `#` starts a comment.
fn parse(list: &str) -> Result<BTreeMap<&str, &str>> {
    let lines = list.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| line.split_once(": ").with_context(|| format!("expected files and a reason: {line}")))
        .collect()
}
