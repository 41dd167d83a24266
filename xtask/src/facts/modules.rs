//! Every source file is compiled: a file that no `mod` names is code that nobody builds, and tests that nobody runs.

use std::collections::BTreeSet;

use super::files::File;
use crate::paths;
use crate::pattern::regex;

/// Files that Cargo compiles by their names, in a folder `src`.
const ROOTS: [&str; 2] = ["lib.rs", "main.rs"];

pub(super) fn check(sources: &[File]) -> Vec<String> {
    let declared: BTreeSet<String> = sources.iter().flat_map(declared).collect();
    let is_module = |file: &&File| {
        file.path.contains("/src/")
            && !file.path.contains("/src/bin/")
            && !file.path.starts_with(paths::TUTORIAL)
            && !ROOTS.iter().any(|root| file.path.ends_with(&format!("/src/{root}")))
    };
    let unused = sources.iter().filter(is_module).filter(|file| !declared.contains(&file.path));
    unused.map(|file| format!("{}: no `mod` names this file, so it is not compiled", file.path)).collect()
}

/// The files that the modules of a source file may be in.
fn declared(file: &File) -> Vec<String> {
    let (folder, name) = file.path.rsplit_once('/').unwrap_or(("", &file.path));
    let stem = name.trim_end_matches(".rs");
    let below = match stem {
        "mod" | "lib" | "main" => folder.to_owned(),
        _ => format!("{folder}/{stem}"),
    };
    let module = regex(r"(?m)^\s*(?:pub(?:\([^)]*\))? )?mod (?:r#)?(\w+);");
    let path = regex(r#"\bpath = "([^"]+\.rs)""#);
    let mut files = Vec::new();
    for found in module.captures_iter(&file.text) {
        files.extend([format!("{below}/{}.rs", &found[1]), format!("{below}/{}/mod.rs", &found[1])]);
    }
    files.extend(path.captures_iter(&file.text).map(|found| joined(folder, &found[1])));
    files
}

/// A path relative to a folder, without `..`.
fn joined(folder: &str, path: &str) -> String {
    let mut names: Vec<_> = folder.split('/').collect();
    for name in path.split('/') {
        match name {
            ".." => drop(names.pop()),
            _ => names.push(name),
        }
    }
    names.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_no_module_names_is_found() {
        let file = |path: &str, text: &str| File { path: path.into(), text: text.into() };
        let sources = [
            file(
                "crates/a/src/lib.rs",
                "mod one;\npub(crate) mod r#gen;\n#[path = \"two_tests.rs\"]\nmod tests;\n",
            ),
            file("crates/a/src/one/mod.rs", "mod deep;\n// mod lost;\n"),
            file("crates/a/src/one/deep.rs", "#[cfg_attr(test, path = \"../off.rs\")]\nmod on;\n"),
            file("crates/a/src/one/deep/on.rs", ""),
            file("crates/a/src/off.rs", ""),
            file("crates/a/src/gen.rs", ""),
            file("crates/a/src/two_tests.rs", ""),
            file("crates/a/src/one/lost.rs", ""),
            file("crates/a/tests/other.rs", ""),
        ];
        let wrong = "crates/a/src/one/lost.rs: no `mod` names this file, so it is not compiled";
        assert_eq!(check(&sources), [wrong]);
    }
}
