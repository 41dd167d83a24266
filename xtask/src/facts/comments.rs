//! Comments fit the width of a screen.

use super::files::File;

/// Characters of a line, with its indentation.
const WIDTH: usize = 140;

pub(super) fn check(sources: &[File]) -> Vec<String> {
    sources.iter().flat_map(too_wide).collect()
}

fn too_wide(file: &File) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut in_code = false;
    for (number, line) in file.text.lines().enumerate() {
        let Some(comment) = line.trim_start().strip_prefix("//") else {
            // A block of code goes on behind `#[doc = include_str!(..)]`.
            in_code &= line.trim_start().starts_with("#[doc");
            continue;
        };
        let comment = comment.trim_start_matches(['/', '!']).trim();
        in_code ^= comment.starts_with("```");
        let width = line.chars().count();
        if width > WIDTH && !in_code && can_be_broken(comment) {
            wrong.push(format!(
                "{}:{}: a comment of {width} characters, more than {WIDTH}",
                file.path,
                number + 1
            ));
        }
    }
    wrong
}

/// Not a row of a table, the target of a link, or a single word such as a URL.
fn can_be_broken(comment: &str) -> bool {
    let text = comment.trim_start_matches(['-', '*', ' ']);
    let is_target =
        text.starts_with('[') && text.split_once("]: ").is_some_and(|(_, target)| !target.contains(' '));
    !text.starts_with('|') && !is_target && text.contains(char::is_whitespace)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_comments_are_found_unless_they_cannot_be_broken() {
        let long = "x".repeat(WIDTH);
        let text = format!(
            "//! a {long}\n//! | {long} |\n    // - https://{long}\n/// [`a`]: crate::{long}\n/// ```\n#[doc = \"\"]\n/// a {long}\n/// ```\n\
             let a = \"{long}\";\n    /// b {long}\n"
        );
        let wrong = check(&[File { path: "a.rs".into(), text }]);
        assert_eq!(
            wrong,
            [
                "a.rs:1: a comment of 146 characters, more than 140",
                "a.rs:10: a comment of 150 characters, more than 140"
            ]
        );
    }
}
