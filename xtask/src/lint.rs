//! Jobs that read the code without running it: formatting, lints, spelling, feature sets.

use anyhow::{Result, ensure};

use crate::command::Command;
use crate::context::Context;
use crate::job::no_arguments;
use crate::{paths, tools};

/// Feature sets of `kube` that no other job builds. The second is the default, as most programs build it.
const FEATURES: [&str; 9] = [
    "",
    "default",
    "config",
    "runtime",
    "tools",
    "tools,ws",
    "kube-operator",
    "openssl-tls,http-proxy,oidc,derive",
    "rustls-tls,aws-lc-rs,webpki-roots,socks5,ws,oauth",
];

pub(crate) fn fmt(cx: &Context, args: &[String]) -> Result<()> {
    no_arguments(args)?;
    paths::WORKSPACES
        .iter()
        .try_for_each(|manifest| cx.cargo("fmt --all --check --manifest-path").arg(manifest).run())
}

pub(crate) fn typos(cx: &Context, args: &[String]) -> Result<()> {
    no_arguments(args)?;
    cx.command(tools::typos(cx)?).args(["--config", "_typos.toml"]).run()
}

/// All targets with all optional features.
pub(crate) fn clippy(cx: &Context, args: &[String]) -> Result<()> {
    no_arguments(args)?;
    if !cx.has_openssl() {
        println!("no OpenSSL headers: the openssl features are not linted");
    }
    cx.cargo(&format!("clippy {} --all-targets --locked -- -D warnings", cx.workspace())).run()
}

/// Each set is selected beside `shared-build`, which saves building again what does not depend on the set.
pub(crate) fn features(cx: &Context, args: &[String]) -> Result<()> {
    no_arguments(args)?;
    let lint = |what: &str| cx.cargo(&format!("clippy --quiet --locked {what} -- -D warnings")).run();
    lint(&format!("{} -p operator --features operator/otlp --all-targets", paths::SHARED_BUILD))?;
    let openssl = cx.has_openssl();
    for set in FEATURES {
        if set.contains("openssl") && !openssl {
            println!("no OpenSSL headers: without {set}");
        } else {
            lint(&format!("{} -p kube --no-default-features --features={set}", paths::SHARED_BUILD))?;
        }
    }
    // Each feature of the test server alone: none needs another. Lints find the code of a feature in the job `clippy`, and what stands in
    // for it in the next line; what is left are warnings about unused items, for which the compiler is enough.
    let server = format!("{} -p kube-testserver --no-default-features", paths::SHARED_BUILD);
    for feature in server_features(&cx.read(paths::SERVER_MANIFEST)?)? {
        without_warnings(cx.cargo(&format!("check --quiet --locked {server} --lib --features {feature}")))?;
    }
    lint(&format!("{server} --all-targets"))?;
    // Leader election, sharding, apply and status without a manager.
    lint(&format!("{} -p kube-operator --no-default-features --all-targets", paths::SHARED_BUILD))?;
    cx.cargo(&format!("test --quiet --locked {server} --lib --test it")).run()
}

/// Runs a quiet command of cargo, which prints nothing but warnings and errors.
fn without_warnings(command: Command) -> Result<()> {
    println!("$ {command}");
    let output = command.errors()?;
    ensure!(output.code == 0 && !output.text().contains("warning"), "{}", output.text());
    Ok(())
}

/// The features that a user of the test server chooses from.
pub(crate) fn server_features(manifest: &str) -> Result<Vec<String>> {
    let manifest: toml::Table = manifest.parse()?;
    let features = manifest.get("features").and_then(toml::Value::as_table);
    Ok(features.into_iter().flat_map(toml::Table::keys).filter(|name| *name != "default").cloned().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warning_is_as_bad_as_an_error() {
        let sh = |script: &str| Command::new("sh", std::path::Path::new("/")).args(["-c", script]);
        assert!(
            without_warnings(sh("echo warning")).is_ok(),
            "only what cargo writes beside the output counts"
        );
        for wrong in ["echo 'warning: unused' >&2", "exit 101"] {
            assert!(without_warnings(sh(wrong)).is_err(), "{wrong}");
        }
    }

    #[test]
    fn features_are_those_of_the_manifest_without_the_default() {
        let manifest = "[features]\ndefault = [\"shell\"]\nshell = []\nspdy = [\"dep:flate2\"]\n[lints]\nworkspace = true\n";
        assert_eq!(server_features(manifest).unwrap(), ["shell", "spdy"]);
    }
}
