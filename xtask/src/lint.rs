//! Jobs that read the code without running it: formatting, lints, spelling, feature sets.

use anyhow::Result;

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

pub(crate) fn features(cx: &Context, args: &[String]) -> Result<()> {
    no_arguments(args)?;
    let lint = |what: &str, features: &str| {
        let command = cx.cargo(&format!("clippy --quiet --locked {what} --features")).arg(features);
        command.args(["--", "-D", "warnings"]).run()
    };
    lint("-p operator --all-targets", "otlp")?;
    let openssl = cx.has_openssl();
    for set in FEATURES {
        if set.contains("openssl") && !openssl {
            println!("no OpenSSL headers: without {set}");
        } else {
            lint("-p kube --no-default-features", set)?;
        }
    }
    // Each feature of the test server alone: none needs another. Lints find the code of a feature in the job `clippy`, and what stands in
    // for it in the next line; what is left are warnings about unused items, for which the compiler is enough.
    for feature in server_features(&cx.read(paths::SERVER_MANIFEST)?)? {
        let check =
            cx.cargo("rustc --quiet --locked --profile check -p kube-testserver --lib --no-default-features");
        check.args(["--features", &feature, "--", "-D", "warnings"]).run()?;
    }
    lint("-p kube-testserver --all-targets --no-default-features", "")?;
    // Leader election, sharding, apply and status without a manager.
    lint("-p kube-operator --all-targets --no-default-features", "")?;
    cx.cargo("test --quiet -p kube-testserver --lib --test it --no-default-features --locked").run()
}

/// The features that a user of the test server chooses from.
pub(crate) fn server_features(manifest: &str) -> Result<Vec<String>> {
    let manifest: toml::Table = manifest.parse()?;
    let features = manifest.get("features").and_then(toml::Value::as_table);
    Ok(features.into_iter().flat_map(toml::Table::keys).filter(|name| *name != "default").cloned().collect())
}

#[cfg(test)]
mod tests {
    #[test]
    fn features_are_those_of_the_manifest_without_the_default() {
        let manifest = "[features]\ndefault = [\"shell\"]\nshell = []\nspdy = [\"dep:flate2\"]\n[lints]\nworkspace = true\n";
        assert_eq!(super::server_features(manifest).unwrap(), ["shell", "spdy"]);
    }
}
