//! `cargo xtask check`: the loop of a contributor, from formatting to unit tests.

use anyhow::Result;

use crate::context::Context;

/// Of these crates, or of the whole workspace. `tests`: integration tests as well.
pub(crate) fn check(cx: &Context, packages: &[String], tests: bool) -> Result<()> {
    let selected: String = if packages.is_empty() {
        " --workspace".into()
    } else {
        packages.iter().map(|package| format!(" -p {package}")).collect()
    };
    let formatted = if packages.is_empty() { " --all" } else { &selected };
    cx.cargo(&format!("fmt --check{formatted}")).run()?;
    cx.cargo(&format!("clippy --quiet{selected} --all-targets --locked -- -D warnings")).run()?;
    let targets = match (tests, has_library(cx, packages)?) {
        (true, _) => "",
        (false, true) => " --lib --bins",
        (false, false) => " --bins",
    };
    cx.cargo(&format!("test --quiet{selected}{targets} --locked")).env_remove("KUBECONFIG").run()
}

/// Whether one of the crates is a library: cargo refuses `--lib` where none is.
fn has_library(cx: &Context, packages: &[String]) -> Result<bool> {
    let metadata = cx.metadata(false)?;
    let chosen =
        metadata.packages.iter().filter(|package| packages.is_empty() || packages.contains(&package.name));
    let mut targets = chosen.flat_map(|package| &package.targets);
    Ok(targets.any(|target| target.is_lib() || target.is_proc_macro()))
}
