//! `cargo kube verify init`: writes the test of a project from its definitions and samples.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail, ensure};
use clap::Args;
use toml_edit::DocumentMut;

use super::manifest::{add_dev_dependencies, is_of_template, library, source_of_kube};
use super::test_file::{TestFile, open_places};
use super::workload::workload;
use crate::cli::output::line;
use crate::cli::project::files;
use crate::cli::project::source::{Source, VERIFY, check_checkout};
use crate::cli::{inputs, runtime};

/// The file of the test target that `cargo kube verify` runs.
const TEST: &str = "tests/verify.rs";

/// Write tests/verify.rs from the definitions and samples of a project that has none
#[derive(Debug, Args)]
#[command(after_help = "\
Also adds to Cargo.toml what the test needs: kube-verify, kube-testserver, serde_json. The samples are tried on
a server in this process. What only you know is printed: without it, the test fails and names the line.
Exit codes: 0 done; 2 wrong input, or a test that exists; then nothing is written.")]
pub(super) struct Init {
    /// The file or folder with the definitions [default: deploy/crds, or deploy]
    #[arg(long, value_name = "PATH")]
    crds: Option<PathBuf>,

    /// The file or folder with an object of each kind [default: deploy/samples]
    #[arg(long, value_name = "PATH")]
    samples: Option<PathBuf>,

    /// Take kube-verify from this checkout of kube [default: beside the kube of the project, or the commit of this program]
    #[arg(long, value_name = "DIR")]
    path: Option<PathBuf>,
}

impl Init {
    pub(super) fn run(self) -> Result<ExitCode> {
        let (root, text) = files::find()?;
        let mut manifest: DocumentMut = text.parse().context("Cargo.toml")?;
        ensure!(
            manifest.contains_key("package"),
            "{}: expected a package, found a workspace: call this in the folder of the operator",
            root.join("Cargo.toml").display()
        );
        if root.join(TEST).symlink_metadata().is_ok() {
            bail!("{TEST}: exists already; expected no file of this name");
        }
        let (source, with_kube) = self.source(&root, &manifest)?;
        let is_of_template = is_of_template(&manifest);
        let crds = CRDS.input(&root, self.crds.as_deref(), is_of_template)?;
        let samples = SAMPLES.input(&root, self.samples.as_deref(), is_of_template)?;
        let definitions = inputs::some_definitions(&crds.path, false)?;
        let objects = inputs::objects(&samples.path, false)?;
        let place = samples.path.display().to_string();
        let workload = runtime::run(workload(&definitions, &objects, &place))?;

        let file = TestFile {
            crds: &crds.in_test,
            samples: &samples.in_test,
            workload: &workload,
            library: &library(&root, &manifest),
            with_kube,
        };
        let test = file.text()?;
        add_dev_dependencies(&mut manifest, &source, with_kube)?;
        let manifest = Some(manifest.to_string()).filter(|changed| *changed != text);
        let mut changes = vec![(TEST.to_owned(), Some(test.clone()))];
        changes.extend(manifest.map(|manifest| ("Cargo.toml".to_owned(), Some(manifest))));
        files::write(&root, &changes)?;

        for (path, _) in &changes {
            line(format_args!("{} {path}", if path == TEST { "created" } else { "changed" }))?;
        }
        for (number, what) in open_places(&test) {
            line(format_args!("fill in {TEST}:{number}: {what}"))?;
        }
        line(format_args!("next: cargo kube verify"))?;
        Ok(ExitCode::SUCCESS)
    }

    /// Where `kube-verify` is, and whether it knows the `kube` of the project.
    fn source(&self, root: &Path, manifest: &DocumentMut) -> Result<(Source, bool)> {
        let own = Source::of_this_program();
        let of_kube = source_of_kube(root, manifest, own.as_ref());
        let given = self.path.as_deref().map(|path| checkout(root, path)).transpose()?;
        let source = given.or_else(|| of_kube.clone()).or(own).context(
            "this program was not built from a git repository: expected --path DIR, with a checkout of kube",
        )?;
        let with_kube = of_kube.as_ref() == Some(&source);
        Ok((source, with_kube))
    }
}

/// What the user gives, or has at a usual place.
struct Expected {
    what: &'static str,
    option: &'static str,
    usual: &'static [&'static str],
    /// How to come by it.
    hint: &'static str,
}

const CRDS: Expected = Expected {
    what: "definitions",
    option: "--crds",
    usual: &["deploy/crds", "deploy"],
    hint: "print `crd()` of a kind in Rust as JSON to such a file",
};

const SAMPLES: Expected = Expected {
    what: "samples",
    option: "--samples",
    usual: &["deploy/samples"],
    hint: "an object of each kind, as users create it",
};

/// A file or folder of the user.
struct Input {
    /// As this program reads it.
    path: PathBuf,
    /// As the test reads it: from the folder of the package.
    in_test: String,
}

impl Expected {
    fn input(&self, root: &Path, given: Option<&Path>, is_of_template: bool) -> Result<Input> {
        let Self { what, option, usual, hint } = self;
        if let Some(path) = given {
            ensure!(
                path != Path::new("-"),
                "{option} -: expected a file or a folder: the test reads it again"
            );
            return Ok(Input { path: path.to_owned(), in_test: from_root(root, option, path)? });
        }
        let present = usual.iter().find(|path| root.join(path).exists());
        let in_test = present.with_context(|| {
            let hint = if is_of_template { "`cargo kube manifests` writes them" } else { hint };
            let (root, usual) = (root.display(), usual.join(" or "));
            format!("{root}: expected {what} in {usual}, or {option} PATH; {hint}")
        })?;
        Ok(Input { path: root.join(in_test), in_test: (*in_test).to_owned() })
    }
}

/// A checkout of kube as the Cargo.toml in `root` names it.
fn checkout(root: &Path, path: &Path) -> Result<Source> {
    check_checkout(path, VERIFY)?;
    Ok(Source::Path(from_root(root, "--path", path)?))
}

/// A path that is meant from the current folder, from `root` above it.
fn from_root(root: &Path, option: &str, path: &Path) -> Result<String> {
    let current = std::env::current_dir().context("the current folder")?;
    let path = current.strip_prefix(root).unwrap_or(Path::new("")).join(path);
    match path.to_str() {
        Some(text) if !text.contains(['\n', '\r']) => Ok(text.trim_end_matches('/').to_owned()),
        _ => bail!("{option} {}: expected a path in UTF-8 and one line", path.display()),
    }
}
