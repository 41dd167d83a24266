//! A `mod.rs`, `lib.rs` or `main.rs` with many modules says what each of them is.

use regex::Regex;

use super::files::File;
use crate::pattern::regex;

/// So many modules explain themselves by their names.
const FEW: usize = 5;

pub(super) fn check(sources: &[File]) -> Vec<String> {
    let module = regex(r"(?m)^(?:pub(?:\([^)]+\))? )?mod (\w+);");
    let folders = sources.iter().filter(|file| has_to_name_its_modules(&file.path));
    folders.filter_map(|file| unnamed(&module, file)).collect()
}

/// The `main.rs` of tests, which is in no folder `src`, lists topics: each is a file that begins with what it is.
fn has_to_name_its_modules(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    name == "mod.rs" || (["lib.rs", "main.rs"].contains(&name) && path.contains("/src/"))
}

/// The modules of a file that the comment at its beginning does not name.
fn unnamed(module: &Regex, file: &File) -> Option<String> {
    let modules: Vec<_> =
        module.captures_iter(&file.text).map(|captures| captures.extract::<1>().1[0]).collect();
    let modules: Vec<_> =
        modules.into_iter().filter(|name| *name != "tests" && !name.ends_with("_tests")).collect();
    if modules.len() <= FEW {
        return None;
    }
    let is_head = |line: &&str| line.is_empty() || line.starts_with("//") || line.starts_with("#![");
    let head: Vec<_> = file.text.lines().take_while(is_head).collect();
    let head = head.join("\n");
    let is_named = |name: &&str| regex(&format!(r"`(?:\w+(?:::|/))*{name}(?:`|::|/|\.rs)")).is_match(&head);
    let unnamed: Vec<_> = modules.into_iter().filter(|name| !is_named(name)).collect();
    (!unnamed.is_empty()).then(|| {
        format!(
            "{}: the first comment does not say what these modules are: {}",
            file.path,
            unnamed.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_of_many_modules_is_named_at_the_beginning() {
        let folder_of = |path: &str, head: &str, modules: &str| {
            let modules: String =
                modules.split(' ').map(|name| format!("pub(crate) mod {name};\n")).collect();
            check(&[File { path: path.into(), text: format!("{head}\n\n{modules}// `f`\n") }])
        };
        let folder = |head: &str, modules: &str| folder_of("crates/a/src/mod.rs", head, modules);
        assert_eq!(folder("//! A folder.", "a b c d e a_tests tests"), [""; 0]);
        let head = "//! A folder.\n\n// `a`: one. [`b::B`]: two. `sub/c.rs` `d`, `e`";
        let expected = "crates/a/src/mod.rs: the first comment does not say what these modules are: f";
        assert_eq!(folder(head, "a b c d e f"), [expected]);
        for path in ["crates/a/src/lib.rs", "crates/a/src/bin/b/main.rs"] {
            assert_eq!(folder_of(path, head, "a b c d e f"), [expected.replace("crates/a/src/mod.rs", path)]);
        }
        assert_eq!(folder_of("crates/a/tests/it/main.rs", head, "a b c d e f"), [""; 0]);
    }
}
