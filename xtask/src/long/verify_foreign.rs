//! The job `verify-foreign`: operators that do not know this workspace are verified, with `kube-verify` as their only new dependency.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};

use crate::context::{Context, scratch};
use crate::job::no_arguments;

/// The packages of the workspace in `bench/verify`: one source on two releases of `kube`.
const PACKAGES: [&str; 2] = ["operators-on-kube-5", "operators-on-kube-1"];
const WORKSPACE: &str = "bench/verify/Cargo.toml";
/// With the compilation of the operator.
const LIMIT: Duration = Duration::from_secs(30 * 60);

/// Without arguments, the operators of `bench/verify`. With a folder, each checkout in it that has `tests/verify.rs`.
pub(crate) fn verify_foreign(cx: &Context, args: &[String]) -> Result<()> {
    let [folder] = args else {
        no_arguments(args)?;
        return PACKAGES.iter().try_for_each(|package| {
            cx.cargo("test --quiet --test verify --manifest-path").args([WORKSPACE, "-p", package]).run()
        });
    };
    let checkouts = checkouts(Path::new(folder))?;
    let failures: Vec<_> = checkouts.iter().filter_map(|checkout| verify(cx, checkout).err()).collect();
    let failures: Vec<_> = failures.iter().map(|failure| format!("{failure:#}")).collect();
    ensure!(failures.is_empty(), "{}", failures.join("\n"));
    Ok(())
}

/// Those that have a test, sorted.
fn checkouts(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let folders = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    let mut checkouts: Vec<_> =
        folders.into_iter().filter(|checkout| checkout.join("tests/verify.rs").is_file()).collect();
    checkouts.sort();
    let folder = folder.display();
    ensure!(!checkouts.is_empty(), "{folder}: expected a folder in it with tests/verify.rs, as bench/verify/README.md says");
    Ok(checkouts)
}

/// Runs the test of a copy, so that the checkout stays as it is.
fn verify(cx: &Context, checkout: &Path) -> Result<()> {
    println!("--- {}", checkout.display());
    let work = scratch()?;
    let copy = work.path().join("checkout");
    cx.command("cp").args(["-r", "--"]).arg(checkout).arg(&copy).run()?;
    let dependency = cx.command("cargo").args(["add", "--dev", "--quiet", "--features", "latest", "--path"]);
    dependency.arg(cx.path("testserver/verify")).dir(&copy).run()?;
    let test = cx.command("cargo").args(["test", "--test", "verify"]).dir(&copy).limit(LIMIT);
    test.run().with_context(|| checkout.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_checkouts_with_a_test_are_verified() {
        let folder = scratch().unwrap();
        let error = checkouts(folder.path()).unwrap_err().to_string();
        assert!(error.contains("tests/verify.rs"), "{error}");
        for (name, file) in [("b", "tests/verify.rs"), ("a", "tests/verify.rs"), ("c", "src/main.rs")] {
            let file = folder.path().join(name).join(file);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, "").unwrap();
        }
        let expected: Vec<_> = ["a", "b"].iter().map(|name| folder.path().join(name)).collect();
        assert_eq!(checkouts(folder.path()).unwrap(), expected);
    }
}
