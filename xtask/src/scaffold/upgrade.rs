//! An upgrade of a project that its user has changed.

use anyhow::{Context as _, Result, ensure};

use super::project::Scaffold;

/// A project of an older commit, changed by its user.
pub(super) fn upgrade(scaffold: &Scaffold<'_>) -> Result<()> {
    println!("--- an upgrade");
    let project = &scaffold.create("old", "--kind Page")?.folder;
    let manifest = project.join("Cargo.toml");
    let current = std::fs::read_to_string(&manifest)?;
    let commit = current.split("rev = \"").nth(1).and_then(|rest| rest.split('"').next());
    let commit = commit.context("Cargo.toml names no commit")?;
    let mine = "serde_json = \"1\"\nregex = \"1\"\n";
    let old = current.replace(commit, "0000000").replace("serde_json = \"1\"\n", mine);
    std::fs::write(&manifest, &old)?;
    let git = |args: &str| scaffold.cx.command("git").args(args.split_whitespace()).dir(project);
    git("init --quiet").run()?;
    let refused = scaffold.kube(project, "upgrade").output()?;
    ensure!(refused.code == 2 && refused.text().contains("--allow-dirty"), "{}", refused.text());
    git("add -A").run()?;
    git("-c user.name=ci -c user.email=ci@localhost commit --quiet -m old").run()?;
    scaffold.kube(project, "upgrade").run()?;
    let expected = current.replace("serde_json = \"1\"\n", mine);
    ensure!(std::fs::read_to_string(&manifest)? == expected, "Cargo.toml is not merged");

    std::fs::write(&manifest, old.replace("\"operator\"]", "\"operator\", \"ws\"]"))?;
    let conflict = scaffold.kube(project, "upgrade --allow-dirty").output()?;
    let text = conflict.text();
    ensure!(conflict.code == 1 && text.contains("conflict: Cargo.toml"), "{}: {text}", conflict.code);
    ensure!(std::fs::read_to_string(&manifest)?.contains("<<<<<<< ours\n"), "Cargo.toml has no markers");
    println!("an upgrade keeps the user's changes, and marks a conflict");
    Ok(())
}
