//! The job `budgets`: files have a limited size, and neither modules nor files of a crate import each other in a circle.
//!
//! In the order of the data: `package` sorts the files into crates and their modules, `size` counts lines, `scan` reads what a file defines
//! and which paths it names, `imports` finds the file that defines what a path names, `circles` finds the circles, and `recursions` takes
//! out those that are in the nature of their task.

mod circles;
mod imports;
mod package;
mod recursions;
mod scan;
mod size;

use anyhow::{Result, ensure};

use crate::context::Context;
use crate::facts::{self, File};
use crate::job::no_arguments;
use crate::paths;

pub(crate) fn budgets(cx: &Context, args: &[String]) -> Result<()> {
    no_arguments(args)?;
    let sources = facts::sources(cx)?;
    let wrong = check(&sources, &cx.read(paths::RECURSIONS)?)?;
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    println!("no file is too long, and no circle is unlisted");
    Ok(())
}

/// What is over a budget, and what is wrong in the list of recursions.
fn check(sources: &[File], recursions: &str) -> Result<Vec<String>> {
    let mut wrong = Vec::new();
    let mut circles = Vec::new();
    for package in package::packages(sources)? {
        wrong.extend(package.modules.iter().filter_map(|module| size::over_budget(module.file)));
        let imports = imports::imports(&package.modules);
        let modules = circles::of_modules(&package.modules, &imports);
        let names = modules.into_iter().map(|names| names.join(", "));
        wrong.extend(names.map(|names| format!("{}: modules in a circle: {names}", package.folder)));
        circles.extend(circles::of_files(&package.modules, &imports));
    }
    wrong.extend(recursions::unlisted(&circles, recursions)?);
    Ok(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(files: &[(&str, &str)]) -> Vec<String> {
        findings_with(files, "")
    }

    fn findings_with(files: &[(&str, &str)], recursions: &str) -> Vec<String> {
        let file = |&(path, text): &(&str, &str)| File { path: path.into(), text: text.into() };
        check(&files.iter().map(file).collect::<Vec<_>>(), recursions).unwrap()
    }

    #[test]
    fn a_circle_of_modules_is_found() {
        let files = [
            ("crates/a/src/lib.rs", "mod one;\nmod two;"),
            ("crates/a/src/one/mod.rs", "mod upper;\nmod lower;\npub(crate) use lower::Low;"),
            ("crates/a/src/one/upper.rs", "use crate::two::Two;"),
            ("crates/a/src/one/lower.rs", "pub(crate) struct Low;"),
            ("crates/a/src/two.rs", "pub(crate) struct Two(crate::one::Low);"),
        ];
        assert_eq!(findings(&files), ["crates/a/src: modules in a circle: one, two"]);
    }

    #[test]
    fn a_circle_of_files_is_found_also_through_a_signpost() {
        let direct = [
            ("xtask/src/a/one.rs", "use super::two::two;\npub(super) fn one() {}"),
            ("xtask/src/a/two.rs", "pub(super) fn two() { super::one::one() }"),
        ];
        assert_eq!(findings(&direct), ["files in a circle: xtask/src/a/one.rs xtask/src/a/two.rs"]);
        let signpost = [
            ("xtask/src/a/mod.rs", "mod one;\nmod two;\npub(crate) use {one::*, two::Two as Second};"),
            ("xtask/src/a/one.rs", "use crate::a::Second;\npub(crate) fn one() {}"),
            ("xtask/src/a/two.rs", "pub(crate) struct Two;\nfn two() { super::one() }"),
        ];
        assert_eq!(findings(&signpost), ["files in a circle: xtask/src/a/one.rs xtask/src/a/two.rs"]);
    }

    #[test]
    fn tests_and_comments_close_no_circle() {
        let files = [
            ("e2e/src/one.rs", "use crate::two::Two;\npub struct One;"),
            (
                "e2e/src/two.rs",
                "// crate::one::One\npub struct Two;\n#[cfg(test)]\nmod tests { use crate::one::One; }",
            ),
            ("e2e/src/lib.rs", "#[cfg(test)]\nmod two_tests;"),
            ("e2e/src/two_tests.rs", "use crate::one::One;"),
        ];
        assert_eq!(findings(&files), [""; 0]);
    }

    #[test]
    fn a_circle_through_an_imported_module_is_found() {
        let files = [
            ("xtask/src/a/mod.rs", "mod one;\nmod two;\npub(crate) use {one::one, two::two};"),
            ("xtask/src/a/one.rs", "use crate::a;\npub(crate) fn one() { a::two() }"),
            ("xtask/src/a/two.rs", "use crate::a as b;\npub(crate) fn two() { b::one() }"),
        ];
        assert_eq!(findings(&files), ["files in a circle: xtask/src/a/one.rs xtask/src/a/two.rs"]);
    }

    #[test]
    fn a_circle_of_a_binary_is_found() {
        let files = [
            ("crates/a/src/bin/p/main.rs", "mod one;\nmod two;"),
            ("crates/a/src/bin/p/one.rs", "pub(crate) fn one() { crate::two::two() }"),
            ("crates/a/src/bin/p/two.rs", "pub(crate) fn two() { crate::one::one() }"),
            ("crates/a/src/one.rs", "pub(crate) fn one() {}"),
        ];
        assert_eq!(
            findings(&files),
            [
                "crates/a/src/bin/p: modules in a circle: one, two",
                "files in a circle: crates/a/src/bin/p/one.rs crates/a/src/bin/p/two.rs"
            ]
        );
    }

    #[test]
    fn long_files_are_found_where_tests_are_only_a_part_of_a_name() {
        let lines = |count: usize| "x!();\n".repeat(count);
        let files = [
            ("testserver/server/src/long.rs", &*lines(401)),
            ("testserver/server/src/a/mod.rs", &*lines(61)),
            ("testserver/server/src/attests/long.rs", &*lines(401)),
            ("testserver/server/src/full.rs", &*(lines(400) + "// why\n\n#[cfg(test)]\nmod tests {\n}\n")),
            ("testserver/server/src/early.rs", &*("#[cfg(test)]\nmod tests {}\n".to_owned() + &lines(401))),
            (
                "testserver/server/src/lib.rs",
                "#[cfg(test)]\n#[path = \"x_tests.rs\"]\nmod a;\n#[cfg(test)]\nmod tests;\n",
            ),
            ("testserver/server/src/x_tests.rs", &*lines(401)),
            ("testserver/server/src/load_tests.rs", &*lines(401)),
            ("testserver/server/src/tests/long.rs", &*lines(401)),
            ("testserver/server/tests/it/long.rs", &*lines(401)),
            ("bench/src/floor/mod.rs", &*lines(61)),
            ("fuzz/src/long.rs", &*lines(401)),
        ];
        assert_eq!(
            findings(&files),
            [
                "bench/src/floor/mod.rs: 61 lines of code, more than 60",
                "fuzz/src/long.rs: 401 lines of code, more than 400",
                "testserver/server/src/long.rs: 401 lines of code, more than 400",
                "testserver/server/src/a/mod.rs: 61 lines of code, more than 60",
                "testserver/server/src/attests/long.rs: 401 lines of code, more than 400",
                "testserver/server/src/early.rs: 401 lines of code, more than 400",
                "testserver/server/src/load_tests.rs: 401 lines of code, more than 400",
            ]
        );
    }

    #[test]
    fn a_listed_recursion_is_no_finding_and_has_to_exist() {
        let circle = [
            ("crates/a/src/read.rs", "use crate::message::Message;\npub(crate) fn read() {}"),
            ("crates/a/src/message.rs", "pub(crate) struct Message;\nfn f() { crate::read::read() }"),
        ];
        let files = "crates/a/src/message.rs crates/a/src/read.rs";
        let listed = format!("# about\n{files}: a message contains messages\n");
        assert_eq!(findings_with(&circle, &listed), ["crates/a/src: modules in a circle: message, read"]);
        assert_eq!(
            findings_with(&circle[..1], &listed),
            [format!("xtask/data/recursions.txt: no circle of {files}")]
        );
        assert!(recursions::unlisted(&[], "crates/a/src/read.rs").is_err());
    }
}
