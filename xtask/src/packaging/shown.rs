//! The lines of Cargo.toml and the build script that pages show, each in a project of its own outside of the workspace, with an empty
//! configuration of Cargo: nothing that this checkout or this machine sets can hide what is missing.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};

use crate::context::Context;
use crate::facts;
use crate::pattern::regex;

/// Where pages have the checkout.
const CHECKOUT: &str = "\"../kube/";
/// A definition for the build script.
const DEFINITION: &str = "crates/cargo-kube/tests/difficult/crds/01-rootplain.yaml";
/// A test with each crate that `[dev-dependencies]` may have.
const TESTS: [(&str, &str); 2] = [
    (
        "kube-testserver = ",
        "#[tokio::test]\nasync fn it_starts() {\n    kube_testserver::TestServer::start().await.unwrap();\n}\n",
    ),
    (
        "kube-verify = ",
        "async fn operator(_: kube::Client) {}\n\n#[test]\nfn it_runs() {\n    kube_verify::Verify::new(|_| operator).run();\n}\n",
    ),
];

/// Compiles the README's controller with the lines of each page, and its build script.
pub(super) fn shown(cx: &Context, work: &Path, controller: &str) -> Result<()> {
    let home = home_without_configuration(work)?;
    let pages = facts::pages(cx)?;
    let own = &pages.iter().find(|page| page.path == "README.md").context("README.md is no page")?.text;
    let own = blocks(own, "toml").find(|block| block.starts_with("[dependencies]"));
    let own = own.context("README.md: expected a block with [dependencies]")?;
    let mut sorts = Vec::new();
    for page in &pages {
        let blocks_here = blocks(&page.text, "toml").filter(|block| block.contains(CHECKOUT));
        for block in blocks_here.filter(|block| !block.starts_with("[patch")) {
            let sort = block.lines().next().unwrap_or_default().to_owned();
            println!("--- {} of {}", sort, page.path);
            let folder = work.join(format!("shown-{}", sorts.len()));
            let lines = if block == own { own.clone() } else { format!("{own}\n{block}") };
            let script = blocks(&page.text, "rust").find(|code| code.starts_with("// build.rs"));
            let project = Project { cx, folder, home: &home };
            project.write("Cargo.toml", &manifest(&lines, &cx.root))?;
            project.write("src/main.rs", controller)?;
            match &*sort {
                "[dev-dependencies]" => {
                    let tests: Vec<_> = TESTS.iter().filter(|(line, _)| block.contains(line)).collect();
                    ensure!(!tests.is_empty(), "{}: no test for {block}", page.path);
                    for (number, (_, test)) in tests.into_iter().enumerate() {
                        project.write(&format!("tests/shown{number}.rs"), test)?;
                    }
                }
                "[build-dependencies]" => {
                    project.write("build.rs", &script.context("the page has no build script")?)?;
                    project.write("crds/definition.yaml", &cx.read(DEFINITION)?)?;
                    let module = blocks(&page.text, "rust").find(|code| code.starts_with("mod crds {"));
                    let module = module.context("the page does not say how the program has the module")?;
                    project.write("src/main.rs", &format!("#![allow(dead_code)]\n{controller}\n{module}"))?;
                }
                _ => {}
            }
            project.check()?;
            sorts.push(sort);
        }
    }
    for sort in ["[dependencies]", "[dev-dependencies]", "[build-dependencies]"] {
        ensure!(sorts.iter().any(|it| it == sort), "no page shows {sort}");
    }
    Ok(())
}

struct Project<'a> {
    cx: &'a Context,
    folder: PathBuf,
    home: &'a Path,
}

impl Project<'_> {
    fn write(&self, path: &str, text: &str) -> Result<()> {
        let path = self.folder.join(path);
        std::fs::create_dir_all(path.parent().context("a folder")?)?;
        std::fs::write(&path, text).with_context(|| path.display().to_string())
    }

    fn check(&self) -> Result<()> {
        // The versions of dependencies that this workspace is tested with.
        std::fs::copy(self.cx.path("Cargo.lock"), self.folder.join("Cargo.lock"))?;
        let cargo = self.cx.cargo("check --quiet --all-targets").dir(&self.folder);
        cargo.env("CARGO_HOME", self.home).env("CARGO_TARGET_DIR", self.cx.projects()).run()
    }
}

/// Cargo's folder, if it has no configuration: what is compiled is then shared with other projects. Otherwise one with what was downloaded.
fn home_without_configuration(work: &Path) -> Result<PathBuf> {
    let own = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let own = own.or_else(|| Some(std::env::home_dir()?.join(".cargo"))).context("no home folder")?;
    if !["config.toml", "config"].iter().any(|name| own.join(name).exists()) {
        return Ok(own);
    }
    let home = work.join("cargo-home");
    std::fs::create_dir(&home)?;
    for downloaded in ["registry", "git"] {
        std::os::unix::fs::symlink(own.join(downloaded), home.join(downloaded))?;
    }
    Ok(home)
}

fn manifest(lines: &str, checkout: &Path) -> String {
    let lines = lines.replace(CHECKOUT, &format!("\"{}/", checkout.display()));
    format!("[workspace]\n[package]\nname = \"scratch\"\nedition = \"2024\"\n\n{lines}")
}

/// The blocks of code in a language.
fn blocks<'a>(page: &'a str, language: &str) -> impl Iterator<Item = String> + 'a {
    let block = regex(&format!(r"(?ms)^```{language}[^\n]*\n(.*?)^```$"));
    block.captures_iter(page).map(|block| block[1].to_owned()).collect::<Vec<_>>().into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_page_name_this_checkout() {
        let page = "```toml\n[dependencies]\nkube = { path = \"../kube/crates/kube\" }\n```\n```rust\nfn main() {}\n```\n";
        let lines = blocks(page, "toml").next().unwrap();
        assert!(manifest(&lines, Path::new("/here")).ends_with("kube = { path = \"/here/crates/kube\" }\n"));
        assert_eq!(blocks(page, "rust").collect::<Vec<_>>(), ["fn main() {}\n"]);
    }
}
