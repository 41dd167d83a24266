//! Installs what a bare Rust machine lacks.

use anyhow::{Result, bail};

use crate::context::Context;
use crate::job::no_arguments;

/// Programs, and the Debian packages that have them.
const PACKAGES: [(&str, &str); 10] = [
    // ring and aws-lc-rs compile C code, libFuzzer C++.
    ("cc", "gcc"),
    ("c++", "g++"),
    ("git", "git"),
    ("curl", "curl"),
    ("kubectl", "kubernetes-client"),
    ("openssl", "openssl"),
    ("pkg-config", "pkg-config"),
    ("python3", "python3"),
    ("valgrind", "valgrind"),
    ("xz", "xz-utils"),
];

pub(crate) fn setup(cx: &Context, args: &[String]) -> Result<()> {
    no_arguments(args)?;
    let mut missing: Vec<_> =
        PACKAGES.iter().filter(|(program, _)| !cx.has(program)).map(|(_, package)| *package).collect();
    if !cx.has_openssl() {
        missing.push("libssl-dev");
    }
    // Debian's python3 comes without pip.
    if cx.has("python3") && !cx.command("python3").args(["-c", "import ensurepip"]).succeeds()
        || missing.contains(&"python3")
    {
        missing.push("python3-venv");
    }
    if !missing.is_empty() {
        println!("installing: {}", missing.join(" "));
        let apt_get = |args: &[&str]| {
            let root = rustix::process::geteuid().is_root();
            let command =
                if root { cx.command("apt-get") } else { cx.command("sudo").args(["-n", "apt-get"]) };
            command.args(args).env("DEBIAN_FRONTEND", "noninteractive")
        };
        let install = apt_get(&["install", "-y", "-qq", "--no-install-recommends"]).args(&missing);
        let installed = apt_get(&["update", "-qq"]).succeeds() && install.succeeds();
        if !installed {
            println!(
                "could not install {} (no root, or no apt-get): the jobs that need them are skipped",
                missing.join(" ")
            );
        }
    }
    if !cx.has("cc") {
        bail!("no C compiler: install gcc or clang");
    }
    for (subcommand, component) in [("fmt", "rustfmt"), ("clippy", "clippy")] {
        if !cx.command("cargo").args([subcommand, "--version"]).succeeds() {
            cx.command("rustup").args(["component", "add", component]).run()?;
        }
    }
    cx.cargo("--version").run()
}
