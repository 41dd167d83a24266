//! The job `dependencies`: none is unused, their licences and sources are allowed, and their lowest versions build.

use anyhow::Result;

use crate::context::{Context, scratch};
use crate::job::choices;
use crate::tools;

pub(crate) fn dependencies(cx: &Context, args: &[String]) -> Result<()> {
    let checks = ["unused", "deny", "minimal"];
    for check in choices(args, &checks, &checks)? {
        match check {
            "unused" => {
                let path = tools::cargo_subcommand(cx, "machete")?;
                cx.cargo("machete").env("PATH", path).run()?;
            }
            "deny" => deny(cx)?,
            _ => minimal(cx)?,
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

/// Only the published crates: the examples need newer versions.
fn minimal(cx: &Context) -> Result<()> {
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
    // -Z options need a nightly toolchain, or this variable.
    let update = cx.cargo("update --quiet -Z direct-minimal-versions").env("RUSTC_BOOTSTRAP", "1");
    update.dir(copy.path()).run()?;
    for what in ["--workspace --all-features", "-p kube"] {
        let check = cx.cargo(&format!("check {what} --manifest-path")).arg(&manifest);
        check.arg("--target-dir").arg(cx.target.join("minimal")).run()?;
    }
    Ok(())
}
