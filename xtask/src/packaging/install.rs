//! The job `install`: the ways to depend on this workspace that the README shows, each in a scratch project with the README's controller;
//! what other pages show (`shown`); and `[patch.crates-io]` with the requirements and lock files that programs have. The test server's
//! program, from outside of the checkout.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};

use crate::context::{Context, scratch};
use crate::job::no_arguments;
use crate::packaging::shown::shown;
use crate::paths;

const OTHERS: &str = r#"k8s-openapi = { version = "0.29", features = ["latest"] }
futures = "0.3"
tokio = { version = "1", features = ["macros", "rt-multi-thread"] }"#;
const FEATURES: &str = r#"features = ["runtime", "derive"]"#;
/// The crates that `[patch.crates-io]` replaces.
const PATCHED: [&str; 5] = ["kube", "kube-client", "kube-core", "kube-derive", "kube-runtime"];
/// Requirements of programs whose lock file has kube 5.0.0, with the features of kube that they turn on.
const LOCKED: [(&str, &[&str]); 6] = [
    ("5", &["runtime", "derive"]),
    ("~5.0", &["runtime", "derive"]),
    ("=5.0.0", &["runtime", "derive"]),
    ("<5.1", &["runtime"]),
    ("5.0", &["derive"]),
    ("=5.0", &[]),
];

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
    shown(cx, work.path(), &controller)?;
    println!("--- the program of the test server, from another folder");
    let check = cx.cargo("check --quiet --locked --features k8s-openapi/latest --manifest-path");
    let check = check.arg(cx.path(paths::SERVER_MANIFEST)).dir(work.path());
    check.env("CARGO_TARGET_DIR", cx.projects()).run()?;
    // `yaml` brings kube-tools, which kube 5.0 does not have: it needs no line.
    let patches = patches(cx, &["runtime", "derive"]);
    let kube = r#"kube = { version = "5", features = ["runtime", "derive", "yaml"] }"#;
    project("patch", &format!("[dependencies]\n{kube}\n{OTHERS}\n\n{patches}"))?;
    for (number, (requirement, features)) in LOCKED.into_iter().enumerate() {
        let folder = work.path().join(format!("locked-{number}"));
        locked(cx, &folder, requirement, features)
            .with_context(|| format!("kube = {requirement:?} {features:?}"))?;
    }
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

/// The lines of the README that a program with these features needs: a patch of a crate that it does not use causes a warning.
fn patches(cx: &Context, features: &[&str]) -> String {
    let used = |name: &&str| {
        name.rsplit_once('-')
            .is_none_or(|(_, part)| !["derive", "runtime"].contains(&part) || features.contains(&part))
    };
    let line = |name| format!("{name} = {{ path = \"{}\" }}\n", cx.path("crates").join(name).display());
    format!("[patch.crates-io]\n{}", PATCHED.iter().filter(|name| used(name)).map(line).collect::<String>())
}

/// A program whose lock file has kube 5.0.0 gets the patch and `cargo update -p kube`: then all crates of kube are those of the workspace.
fn locked(cx: &Context, folder: &Path, requirement: &str, features: &[&str]) -> Result<()> {
    println!("--- locked at 5.0.0: kube = \"{requirement}\" {features:?}");
    std::fs::create_dir_all(folder.join("src"))?;
    std::fs::write(folder.join("src/main.rs"), "fn main() {}\n")?;
    let manifest = format!(
        "[workspace]\n[package]\nname = \"scratch\"\nedition = \"2024\"\n\n[dependencies]\n\
         kube = {{ version = \"{requirement}\", features = {features:?} }}\nk8s-openapi = \"0.29\"\n\n"
    );
    let cargo = |args: &str| cx.cargo(args).dir(folder);
    std::fs::write(folder.join("Cargo.toml"), &manifest)?;
    cargo("generate-lockfile --quiet").run()?;
    cargo("update --quiet -p kube --precise 5.0.0").run()?;
    std::fs::write(folder.join("Cargo.toml"), manifest + &patches(cx, features))?;
    cargo("update --quiet -p kube").run()?;
    let tree = cargo("tree --locked --prefix none --format {p}").output()?;
    let text = tree.text();
    let foreign = foreign(&text, &cx.root.display().to_string());
    ensure!(tree.code == 0 && foreign.is_empty(), "not of this workspace:\n{}", foreign.join("\n"));
    Ok(())
}

/// The lines of `cargo tree` with a crate of kube from elsewhere, and every warning.
fn foreign<'a>(tree: &'a str, root: &str) -> Vec<&'a str> {
    let kube = |line: &str| line.starts_with("kube ") || line.starts_with("kube-");
    let lines =
        tree.lines().filter(|line| (kube(line) && !line.contains(root)) || line.starts_with("warning"));
    lines.collect()
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
    let cargo = |args: &str| cx.cargo(args).dir(folder).env("CARGO_TARGET_DIR", cx.projects());
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

    #[test]
    fn crates_from_elsewhere_and_warnings_are_found() {
        let tree = "warning: patch `kube-derive` was not used\nscratch v0.0.0\nkube v5.0.0+drop-in.1 (/here/crates/kube)\n\
                    kube-core v5.0.0\nserde v1.0.0\n";
        assert_eq!(foreign(tree, "/here"), ["warning: patch `kube-derive` was not used", "kube-core v5.0.0"]);
    }
}
