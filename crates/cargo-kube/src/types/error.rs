//! [`Error`]: why types could not be generated or written.

use std::path::PathBuf;

use kube_tools::yaml::ReadError;

/// Why types could not be generated or written. `{}` names the file, the document and the field, and what was expected there.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file is not readable, or not YAML or JSON with Kubernetes objects.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A definition is not one of `apiextensions.k8s.io/v1`, or contradicts itself.
    #[error("{at}: {field}: {reason}")]
    Definition {
        /// The file and document, or the name of the definition if it was not read from a file.
        at: String,
        /// The path of the field.
        field: String,
        /// What was found, and what was expected.
        reason: String,
    },
    /// The inputs have no definition.
    #[error("{inputs}: expected a CustomResourceDefinition of apiextensions.k8s.io/v1, found none")]
    NoDefinitions {
        /// The files and directories.
        inputs: String,
    },
    /// The file of overrides is not readable, or one of its entries has no effect.
    #[error("{file}: {reason}")]
    Overrides {
        /// The path of the file.
        file: String,
        /// The entry, and what was expected.
        reason: String,
    },
    /// The generated code does not parse: a fault of this program.
    #[error(
        "{file}: the generated code is not Rust ({source}); this is a fault of cargo-kube, please report it with the definition"
    )]
    Code {
        /// The path of the file that was not written.
        file: String,
        /// The error of the parser.
        source: syn::Error,
    },
    /// A file that would be overwritten was not written by `cargo kube gen`.
    #[error("{}: exists and is not a file of `cargo kube gen`: expected an empty directory or one of an earlier run", path.display())]
    Foreign {
        /// The path of the file.
        path: PathBuf,
    },
    /// [`Files::check`](super::Files::check): files on disk differ from those that would be written.
    #[error("out of date: {}", list(paths))]
    OutOfDate {
        /// The files that differ, are missing, or are no longer generated.
        paths: Vec<PathBuf>,
    },
    /// A file could not be written or compared.
    #[error("{}: {source}", path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
}

fn list(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
}
