//! The job `dependencies`: none is unused, their licences and sources are allowed, and their lowest and highest versions build.

use anyhow::Result;

use crate::command::Command;
use crate::context::{Context, scratch};
use crate::job::choices;
use crate::tools;

pub(crate) fn dependencies(cx: &Context, args: &[String]) -> Result<()> {
    let checks = ["unused", "deny", "minimal", "newest"];
    for check in choices(args, &checks, &checks)? {
        match check {
            "unused" => {
                let path = tools::cargo_subcommand(cx, "machete")?;
                cx.cargo("machete").env("PATH", path).run()?;
            }
            "deny" => deny(cx)?,
            "minimal" => minimal(cx)?,
            _ => newest(cx)?,
        }
    }
    Ok(())
}

fn deny(cx: &Context) -> Result<()> {
    let path = tools::cargo_subcommand(cx, "deny")?;
    let check = |what| {
        cx.cargo(&format!("deny --log-level error --all-features check {what}")).env("PATH", &path).run()
    };
    check("bans licenses sources")?;
    // The advisories are a git repository of their own.
    let advisories =
        cx.command("git").args(["ls-remote", "--quiet", "https://github.com/rustsec/advisory-db", "HEAD"]);
    if advisories.succeeds() {
        return check("advisories");
    }
    println!("advisories were not checked: github.com cannot be reached");
    Ok(())
}

/// The lowest versions that the manifests allow. Those of dev-dependencies are too old for the tests.
fn minimal(cx: &Context) -> Result<()> {
    // -Z options need a nightly toolchain, or this variable.
    let update = cx.cargo("update --quiet -Z direct-minimal-versions").env("RUSTC_BOOTSTRAP", "1");
    with_versions(cx, update, "minimal", &CHECKS)
}

/// The highest versions that they allow: what a program that begins today gets. What decides what a text means is a dependency too, so the
/// tables that kubectl wrote are read with them.
fn newest(cx: &Context) -> Result<()> {
    let texts = [
        "test --quiet -p kube-tools --test it yaml_texts::",
        "test --quiet -p kube-client --all-features --test it kubeconfigs::",
    ];
    with_versions(cx, cx.cargo("update --quiet"), "newest", &[&CHECKS[..], &texts].concat())
}

const CHECKS: [&str; 2] = ["check --workspace --all-features", "check -p kube"];

/// Runs the commands of cargo in a copy after `update`. Only the published crates: the examples need newer versions.
fn with_versions(cx: &Context, update: Command, name: &str, commands: &[&str]) -> Result<()> {
    let copy = scratch()?;
    let pack = "git ls-files -z | tar --create --null --files-from=- | tar --extract --directory \"$COPY\"";
    cx.command("sh").args(["-c", pack]).env("COPY", copy.path()).run()?;
    let manifest = copy.path().join("Cargo.toml");
    let text = std::fs::read_to_string(&manifest)?;
    let members = "members = [\"crates/*\", \"testserver/server\"]";
    std::fs::write(
        &manifest,
        crate::pattern::regex(r"(?m)^members = .*$").replace(&text, members).as_bytes(),
    )?;
    update.dir(copy.path()).run()?;
    for command in commands {
        let command = cx.cargo(command).dir(copy.path());
        command.env("CARGO_TARGET_DIR", cx.target.join(name)).run()?;
    }
    Ok(())
}
