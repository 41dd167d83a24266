//! Rust types from the definitions of custom resources: what `cargo kube gen` and build scripts call.
//!
//! [`Definitions`] reads the definitions, a [`Generator`] makes the [`Files`], which are written or compared.
//!
//! ```
//! use cargo_kube::types::{Definitions, Generator};
//!
//! let definitions = Definitions::parse("
//! apiVersion: apiextensions.k8s.io/v1
//! kind: CustomResourceDefinition
//! metadata: {name: pages.example.com}
//! spec:
//!   group: example.com
//!   scope: Namespaced
//!   names: {kind: Page, plural: pages}
//!   versions:
//!   - name: v1
//!     served: true
//!     storage: true
//!     schema:
//!       openAPIV3Schema:
//!         type: object
//!         required: [spec]
//!         properties:
//!           spec:
//!             type: object
//!             required: [title]
//!             properties: {title: {type: string}, mode: {type: string, enum: [Draft, Final]}}
//! ")?;
//! let files = Generator::new().generate(&definitions)?;
//! let page = files.text("example_com/page.rs").unwrap();
//! assert!(page.contains("pub struct PageSpec {"));
//! assert!(page.contains("pub title: String,"));
//! assert!(page.contains("pub mode: Option<PageSpecMode>,"));
//! # Ok::<(), cargo_kube::types::Error>(())
//! ```
//!
//! In a build script, with the definitions in `crds/`:
//!
//! ```no_run
//! // build.rs
//! use cargo_kube::types::{Definitions, Error, Generator};
//!
//! fn main() -> Result<(), Error> {
//!     println!("cargo::rerun-if-changed=crds");
//!     let target = std::path::PathBuf::from(std::env::var_os("OUT_DIR").expect("Cargo sets OUT_DIR")).join("crds");
//!     Generator::new().generate(&Definitions::read("crds")?)?.write(target)
//! }
//! ```
//!
//! and in the program `mod crds { include!(concat!(env!("OUT_DIR"), "/crds/mod.rs")); }`.

// `read` gets definitions from files and programs, `overrides` the file of exceptions. `generator` is a run: `model` makes the types from
// the schemas, with names by `identifiers`, and types of k8s-openapi where `shapes` finds theirs; `emit` makes Rust of them, `files` writes
// it. `error` says why not.

mod emit;
mod error;
mod files;
mod generator;
mod identifiers;
mod model;
mod overrides;
mod read;
mod shapes;

pub use emit::Split;
pub use error::Error;
pub use files::{Files, Kind};
pub use generator::Generator;
pub use overrides::Overrides;
pub use read::Definitions;
