//! Projects by the shortest command, `cargo kube new NAME`, with names of all sorts: they compile with their tests.

use anyhow::{Context as _, Result, ensure};

use super::project::{Project, Scaffold};

/// One letter, digits, dashes, a keyword within, names of which the module of the kind has one (`a`, `p2`), and a plural.
const NAMES: [&str; 5] = ["a", "p2", "web-3-page", "type-checker", "pages"];

/// What Rust, Cargo or a project itself calls so.
const REFUSED: [&str; 6] = ["match", "gen", "serde-json", "tracing-subscriber", "deps", "v1"];

/// The last of them: also its tests pass.
pub(super) fn names(scaffold: &Scaffold<'_>) -> Result<Project> {
    println!("--- new NAME, without another option");
    for name in REFUSED {
        let refused = scaffold.kube(scaffold.folder, &format!("new {name}")).output()?;
        let text = refused.text();
        ensure!(refused.code == 2 && text.contains("expected another name"), "new {name}: {text}");
    }
    let mut last = None;
    for name in NAMES {
        let project = shortest(scaffold, name)?;
        let cargo = |args: &str| scaffold.command(&project.folder, "cargo").args(args.split(' '));
        cargo("metadata --quiet --format-version=1").read()?;
        cargo("fmt --check").run()?;
        cargo("check --quiet --tests").run()?;
        last = Some(project);
    }
    println!("--- new NAME --clusters secrets");
    let options = format!("--clusters secrets --path {}", scaffold.cx.root.display());
    let many = scaffold.create("many-pages", &options)?;
    let cargo = |args: &str| scaffold.command(&many.folder, "cargo").args(args.split(' '));
    cargo("fmt --check").run()?;
    cargo("test --quiet").run()?;
    let project = last.context("there are names")?;
    scaffold.command(&project.folder, "cargo").args(["test", "--quiet"]).run()?;
    Ok(project)
}

/// A project that depends on this checkout, though the command names the commit.
fn shortest(scaffold: &Scaffold<'_>, name: &str) -> Result<Project> {
    if !scaffold.cx.command("git").args(["ls-files", "--error-unmatch", "Cargo.toml"]).succeeds() {
        println!("this is not a git checkout, so the command needs --path");
        return scaffold.create(name, &format!("--path {}", scaffold.cx.root.display()));
    }
    let project = scaffold.create(name, "")?;
    let manifest = project.folder.join("Cargo.toml");
    let text = std::fs::read_to_string(&manifest)?;
    let line = |line: &str| {
        let folder = match line.split(" = ").next() {
            Some("kube") => "crates/kube",
            Some("kube-testserver") => "testserver/server",
            Some("kube-verify") => "testserver/verify",
            _ => return line.to_owned(),
        };
        let path = scaffold.cx.path(folder);
        let rest = line.split("\", ").skip(2).collect::<Vec<_>>().join("\", ");
        let rest = if rest.is_empty() { " }".to_owned() } else { format!(", {rest}") };
        format!("{} = {{ path = {path:?}{rest}", line.split(" = ").next().unwrap_or_default())
    };
    std::fs::write(&manifest, text.lines().map(|text| line(text) + "\n").collect::<String>())?;
    Ok(project)
}
