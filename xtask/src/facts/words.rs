//! Words that must not come back: inventions that had a standard term all along.

use anyhow::{Context as _, Result};
use regex::Regex;

use super::files::File;
use crate::context::Context;
use crate::paths;

pub(super) fn check(cx: &Context, pages: &[File], sources: &[File]) -> Result<Vec<String>> {
    let text = cx.read(paths::WORDS)?;
    let rules = parse(&text)?;
    // This folder names the words.
    let files = pages.iter().chain(sources).filter(|file| !file.path.starts_with("xtask/"));
    Ok(files.flat_map(|file| find(&rules, file)).collect())
}

/// One rule a line: an expression, two or more spaces, what to write instead.
fn parse(text: &str) -> Result<Vec<(Regex, &str)>> {
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| {
            let (pattern, better) =
                line.split_once("  ").with_context(|| format!("expected two fields: {line}"))?;
            Ok((Regex::new(pattern).with_context(|| line.to_owned())?, better.trim()))
        })
        .collect()
}

fn find(rules: &[(Regex, &str)], file: &File) -> Vec<String> {
    let mut found = Vec::new();
    for (number, line) in file.text.lines().enumerate() {
        for (pattern, better) in rules {
            if let Some(word) = pattern.find(line) {
                found.push(format!(
                    "{}:{}: instead of {:?} write {better}",
                    file.path,
                    number + 1,
                    word.as_str()
                ));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_banned_word_is_reported_with_its_line_and_the_better_one() {
        let rules = parse("# words\n\\bvouch(es)?\\b  verify\n").unwrap();
        let file = File { path: "a.rs".into(), text: "//! One.\n// It vouches for it.\n".into() };
        assert_eq!(find(&rules, &file), ["a.rs:2: instead of \"vouches\" write verify"]);
    }
}
