//! Lines of code of a file.

use std::sync::LazyLock;

use regex::Regex;

use crate::facts::File;
use crate::pattern::regex;

const LIMIT: usize = 400;
/// For `mod.rs`, which says what a folder has.
const SIGNPOST_LIMIT: usize = 60;

static TESTS: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?ms)^#\[cfg\((?:all\()?test\b[^\n]*\n(?:#[^\n]*\n)*(?:pub(?:\(\w+\))? )?mod \w+ \{(?:\}|.*?^\})$",
    )
});

/// A file that has more lines of code than it may.
pub(super) fn over_budget(file: &File) -> Option<String> {
    let limit = if file.path.ends_with("/mod.rs") { SIGNPOST_LIMIT } else { LIMIT };
    let lines = lines_of_code(&file.text);
    (lines > limit).then(|| format!("{}: {lines} lines of code, more than {limit}", file.path))
}

/// Lines that are neither empty nor comments, without modules of tests.
fn lines_of_code(text: &str) -> usize {
    let code = TESTS.replace_all(text, "");
    code.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//")).count()
}
