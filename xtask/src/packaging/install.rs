//! The job `install`: the ways to depend on this workspace that the README shows, each in a scratch project with the README's controller.

use std::path::Path;

use anyhow::{Context as _, Result};

use crate::context::{Context, scratch};
use crate::job::no_arguments;

const OTHERS: &str = r#"k8s-openapi = { version = "0.29", features = ["latest"] }
futures = "0.3"
tokio = { version = "1", features = ["macros", "rt-multi-thread"] }"#;
const FEATURES: &str = r#"features = ["runtime", "derive"]"#;
/// The crates that `[patch.crates-io]` replaces.
const PATCHED: [&str; 5] = ["kube", "kube-client", "kube-core", "kube-derive", "kube-runtime"];

pub(crate) fn install(cx: &Context, args: &[String]) -> Result<()> {
    no_arguments(args)?;
    let work = scratch()?;
    let controller = controller(&cx.read("README.md")?).context("README.md: no controller")?;
    let project = |name, manifest: &str| check(cx, &work.path().join(name), manifest, &controller);
    let here = cx.root.display();
    project(
        "path",
        &format!("[dependencies]\nkube = {{ path = \"{here}/crates/kube\", {FEATURES} }}\n{OTHERS}\n"),
    )?;
    let patches: String =
        PATCHED.iter().map(|name| format!("{name} = {{ path = \"{here}/crates/{name}\" }}\n")).collect();
    let kube = format!("kube = {{ version = \"5\", {FEATURES} }}");
    project("patch", &format!("[dependencies]\n{kube}\n{OTHERS}\n\n[patch.crates-io]\n{patches}"))?;
    if !cx.command("git").args(["ls-files", "--error-unmatch", "Cargo.toml"]).succeeds() {
        println!("--- git: left out, this is not a git checkout");
        return Ok(());
    }
    // A fresh repository: Cargo cannot fetch from a shallow checkout, and would miss changes that are not committed.
    let repository = work.path().join("repository");
    std::fs::create_dir(&repository)?;
    let script = "git ls-files -z | tar --null -T - -cf - | tar -C \"$REPOSITORY\" -xf - && cd \"$REPOSITORY\" && git init -q && \
                  git add -A && git -c user.name=ci -c user.email=ci@localhost commit -q -m scratch";
    cx.command("sh").args(["-c", script]).env("REPOSITORY", &repository).run()?;
    let kube = format!("kube = {{ git = \"file://{}\", {FEATURES} }}", repository.display());
    project("git", &format!("[dependencies]\n{kube}\n{OTHERS}\n"))
}

/// Compiles the controller in a project with these lines in its manifest.
fn check(cx: &Context, folder: &Path, manifest: &str, controller: &str) -> Result<()> {
    println!("--- {}", folder.file_name().unwrap_or_default().display());
    std::fs::create_dir_all(folder.join("src"))?;
    let package = "[package]\nname = \"scratch\"\nedition = \"2024\"\n\n";
    std::fs::write(folder.join("Cargo.toml"), format!("{package}{manifest}"))?;
    std::fs::write(folder.join("src/main.rs"), controller)?;
    // The versions of dependencies that this workspace is tested with.
    std::fs::copy(cx.path("Cargo.lock"), folder.join("Cargo.lock"))?;
    let cargo = |args: &str| cx.cargo(args).dir(folder).env("CARGO_TARGET_DIR", cx.target.join("install"));
    cargo("check --quiet").run()?;
    let used = cargo("tree --quiet --depth 1 --prefix none -i kube").read()?;
    println!("{}", used.lines().next().unwrap_or_default());
    Ok(())
}

/// The first program of the README that runs a controller.
fn controller(readme: &str) -> Option<String> {
    let blocks = crate::pattern::regex(r"(?ms)^```rust[^\n]*\n(.*?)^```$");
    blocks
        .captures_iter(readme)
        .map(|block| block[1].to_owned())
        .find(|code| code.contains("fn main") && code.contains("Controller"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_controller_is_the_first_whole_program() {
        let program = "use kube::runtime::Controller;\nfn main() {}\n";
        let readme = format!("```toml\nkube = 1\n```\n```rust\nlet x;\n```\n```rust,no_run\n{program}```\n");
        assert_eq!(controller(&readme).as_deref(), Some(program));
    }
}
