//! Which program or test of a project is meant, and what it is built from.

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use cargo_metadata::{Metadata, MetadataCommand, Package, PackageId, TargetKind};
use clap::Args;

use crate::cli::project::files::find as find_manifest;

/// Which program, and how it is built.
#[derive(Debug, Args)]
pub(crate) struct ProgramArgs {
    /// The package, if the workspace has several programs
    #[arg(short, long, value_name = "NAME")]
    package: Option<String>,

    /// The program, if the package has several
    #[arg(long, value_name = "NAME")]
    bin: Option<String>,

    /// The features to build with, separated by commas
    #[arg(short = 'F', long, value_name = "FEATURES")]
    features: Option<String>,

    /// Build with optimizations
    #[arg(long)]
    release: bool,

    /// The Cargo.toml of the project
    #[arg(long, value_name = "PATH")]
    manifest_path: Option<PathBuf>,
}

/// A program of a project, or a test.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) name: String,
    /// The `Cargo.toml` of its package.
    pub(crate) manifest: PathBuf,
    /// The folder of its package.
    pub(crate) folder: PathBuf,
    /// The folders of its package and of all packages that it depends on by path.
    pub(crate) sources: BTreeSet<PathBuf>,
    /// The folder of the workspace, which has `Cargo.toml` and `Cargo.lock`.
    pub(crate) workspace: PathBuf,
    /// Where Cargo writes.
    pub(crate) target: PathBuf,
    /// Further arguments of `cargo build`.
    pub(crate) build_arguments: Vec<OsString>,
}

/// What a package is wanted for.
#[derive(Clone, Copy)]
enum Wanted<'a> {
    Program,
    /// The test target of this name. Its package may have several programs, or none.
    Test(&'a str),
}

impl ProgramArgs {
    /// The program that the arguments and the current folder name.
    pub(crate) fn find(&self) -> Result<Program> {
        self.select(&self.metadata()?, Wanted::Program)
    }

    /// The test target of this name, in the package that the arguments and the current folder name.
    pub(crate) fn find_test(&self, name: &str) -> Result<Program> {
        self.select(&self.metadata()?, Wanted::Test(name))
    }

    fn metadata(&self) -> Result<Metadata> {
        let mut command = MetadataCommand::new();
        match &self.manifest_path {
            Some(path) => {
                command.manifest_path(path);
            }
            // Cargo would say so in many words.
            None => drop(find_manifest()?),
        }
        command.exec().context("no project")
    }

    fn select(&self, metadata: &Metadata, wanted: Wanted<'_>) -> Result<Program> {
        let package = self.package(metadata, wanted)?;
        let name = match wanted {
            Wanted::Test(name) if self.bin.is_none() => name.to_owned(),
            Wanted::Test(name) => self.program_of(package).map(|_| name.to_owned())?,
            Wanted::Program => self.program_of(package)?,
        };
        let mut build_arguments = Vec::new();
        if let Some(features) = &self.features {
            build_arguments.extend(["--features".into(), features.into()]);
        }
        if self.release {
            build_arguments.push("--release".into());
        }
        Ok(Program {
            name,
            manifest: package.manifest_path.clone().into_std_path_buf(),
            folder: folder_of(package),
            sources: sources(metadata, &package.id),
            workspace: metadata.workspace_root.clone().into_std_path_buf(),
            target: metadata.target_directory.clone().into_std_path_buf(),
            build_arguments,
        })
    }

    fn package<'a>(&self, metadata: &'a Metadata, wanted: Wanted<'_>) -> Result<&'a Package> {
        let members = metadata.workspace_packages();
        if let Some(name) = &self.package {
            let found = members.iter().find(|package| package.name == *name);
            let all = || list(members.iter().map(|package| package.name.as_str()));
            return match found {
                Some(package) => Ok(package),
                None => bail!("--package {name}: expected a package of the workspace: {}", all()),
            };
        }
        if let Some(root) = metadata.root_package() {
            return Ok(root);
        }
        let suitable: Vec<_> = members.into_iter().filter(|package| wanted.is_in(package)).collect();
        match suitable[..] {
            [one] => Ok(one),
            [] => bail!("{}: expected a package with {wanted}, found none", metadata.workspace_root),
            _ => {
                let all = list(suitable.iter().map(|package| package.name.as_str()));
                bail!("several packages of the workspace have {wanted}; expected --package with one of {all}")
            }
        }
    }

    fn program_of(&self, package: &Package) -> Result<String> {
        let all: Vec<&str> = programs(package).collect();
        let at = &package.manifest_path;
        match (&self.bin, &package.default_run, &all[..]) {
            (_, _, []) => bail!("{at}: expected a package with a program, found none"),
            (Some(name), ..) if all.contains(&name.as_str()) => Ok(name.clone()),
            (Some(name), ..) => {
                bail!("--bin {name}: expected a program of {}: {}", package.name, list(all))
            }
            (None, Some(name), _) => Ok(name.clone()),
            (None, None, [one]) => Ok((*one).to_owned()),
            (None, None, _) => {
                bail!("{at}: the package has several programs; expected --bin with one of {}", list(all))
            }
        }
    }
}

impl Wanted<'_> {
    fn is_in(self, package: &Package) -> bool {
        match self {
            Self::Program => programs(package).next().is_some(),
            Self::Test(name) => {
                let mut targets = package.targets.iter();
                targets.any(|target| target.kind.contains(&TargetKind::Test) && target.name == name)
            }
        }
    }
}

impl fmt::Display for Wanted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Program => f.write_str("a program"),
            Self::Test(name) => write!(f, "the test {name}"),
        }
    }
}

fn programs(package: &Package) -> impl Iterator<Item = &str> {
    let programs = package.targets.iter().filter(|target| target.kind.contains(&TargetKind::Bin));
    programs.map(|target| target.name.as_str())
}

fn list<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    names.into_iter().collect::<Vec<_>>().join(", ")
}

fn folder_of(package: &Package) -> PathBuf {
    package
        .manifest_path
        .parent()
        .map_or_else(PathBuf::new, |folder| folder.to_path_buf().into_std_path_buf())
}

/// The folders of a package and of all that it depends on by path.
fn sources(metadata: &Metadata, package: &PackageId) -> BTreeSet<PathBuf> {
    let nodes = metadata.resolve.iter().flat_map(|resolve| &resolve.nodes);
    let dependencies: HashMap<_, _> = nodes.map(|node| (&node.id, &node.dependencies)).collect();
    let mut seen = BTreeSet::from([package]);
    let mut next = vec![package];
    while let Some(id) = next.pop() {
        let new = dependencies.get(id).into_iter().flat_map(|ids| ids.iter());
        next.extend(new.filter(|id| seen.insert(id)));
    }
    // Those of registries and of git have a source.
    let local = metadata.packages.iter().filter(|it| it.source.is_none() && seen.contains(&it.id));
    local.map(folder_of).collect()
}

impl Program {
    /// A path as the user sees it from the current folder.
    pub(crate) fn shown(path: &Path) -> std::path::Display<'_> {
        static CURRENT: std::sync::OnceLock<Option<PathBuf>> = std::sync::OnceLock::new();
        let current = CURRENT.get_or_init(|| std::env::current_dir().ok());
        current.as_ref().and_then(|current| path.strip_prefix(current).ok()).unwrap_or(path).display()
    }
}
