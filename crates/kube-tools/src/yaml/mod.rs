//! YAML and JSON of any kinds: read, apply, create, delete and compare, as kubectl does.
//!
//! [`Objects`] reads files, directories and text. An [`Applier`] writes them to a cluster, in the right order, and reports what became of
//! each.
//!
//! ```
//! use kube_client::api::PatchParams;
//! use kube_tools::yaml::{Applier, Objects};
//! use kube_client::Client;
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let client = Client::new(kube_testserver::ApiServer::new(), "default");
//!
//! let objects = Objects::parse("
//! apiVersion: v1
//! kind: ConfigMap
//! metadata: {name: settings, namespace: shop}
//! ---
//! apiVersion: v1
//! kind: Namespace
//! metadata: {name: shop}
//! ")?;
//! let report = Applier::new(client).apply(&objects, &PatchParams::apply("my-script")).await;
//! let lines: Vec<_> = report.results().iter().map(ToString::to_string).collect();
//! assert_eq!(lines, ["namespace/shop created", "configmap/settings created"]);
//! report.into_result()?;
//! # Ok(())
//! # }
//! ```

// From text to objects: `files` finds files, `text` reads documents, of YAML by `compose`,
// `scalar` and `repair`, of JSON by `unique_keys`; `document` takes `objects` from them, each with its
// `source`; `id` says which is meant, `error` what cannot be read.
// From objects to the cluster: `applier` has its `settings`, and a `run` of it `resolve`s each object, `write`s or `delete`s it when it has
// one of the `places` (in a `new_namespace` with patience), waits for definitions (`establish`) and for `unready` objects, and prunes
// (`prune`). `progress` is what it tells meanwhile; `written`, `pruned` and `result` are parts of its `report`.
// Comparing: `comparable` leaves out what servers write, `serialize` writes YAML, `diff` prints what changes.

// From files and text to objects.
mod compose;
mod files;
mod repair;
mod scalar;
mod text;
mod unique_keys;
// One document: its header, and the items of lists.
mod document;
mod error;
mod id;
mod objects;
mod source;

// Writing: the settings, the run, single objects, and what follows: waiting and pruning.
mod applier;
mod delete;
mod establish;
mod new_namespace;
mod places;
mod progress;
mod prune;
mod resolve;
mod run;
mod settings;
mod unready;
mod write;
mod written;

// What became of each object.
mod comparable;
#[cfg(feature = "diff")]
mod diff;
mod pruned;
mod report;
mod result;

pub use crate::yaml_text::to_string;
pub use applier::Applier;
pub use error::ReadError;
pub use id::ObjectId;
pub use kube_client::error::FieldConflict;
pub use objects::Objects;
pub use progress::Progress;
pub use pruned::PruneStep;
pub use report::{IncompleteRun, Report};
pub use result::{ObjectError, ObjectOutcome, ObjectResult};
pub use run::Run;
pub use source::Source;
