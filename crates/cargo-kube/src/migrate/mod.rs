//! Writes stored custom resources again in the storage version of their definition: what `cargo kube crd migrate` does.
//!
//! An object stays in the version in which it was written. A version can be removed from a definition when no object is stored in it, and
//! the server believes that when `status.storedVersions` no longer lists it. [`Migration`] writes all objects again, then removes the other
//! versions from that list.
//!
//! ```
//! use cargo_kube::migrate::Migration;
//! # use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
//! # use kube_client::{Api, Client, api::{Patch, PatchParams}};
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let version = |name: &str, storage: bool| serde_json::json!({ "name": name, "served": true, "storage": storage,
//! #     "schema": { "openAPIV3Schema": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } } });
//! # let crd = |stored: bool| serde_json::json!({
//! #     "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": { "name": "pages.example.com" },
//! #     "spec": { "group": "example.com", "scope": "Namespaced", "names": { "plural": "pages", "kind": "Page" },
//! #         "versions": [version("v1", stored), version("v2", !stored)] } });
//! # let page = serde_json::json!({ "apiVersion": "example.com/v1", "kind": "Page", "metadata": { "name": "a", "namespace": "default" } });
//! # let server = kube_testserver::ApiServer::builder().with_crds([crd(true)]).with_objects([page]).service()?;
//! # let client = Client::new(server, "default");
//! # let change = Patch::Merge(serde_json::json!({ "spec": { "versions": crd(false)["spec"]["versions"] } }));
//! # Api::<CustomResourceDefinition>::all(client.clone()).patch("pages.example.com", &PatchParams::default(), &change).await?;
//!
//! let summary = Migration::new(client, "pages.example.com").run(|_progress| {}).await?;
//! assert_eq!(summary.written, 1);
//! assert_eq!(summary.removed_versions, ["v1"]);
//! # Ok(())
//! # }
//! ```
//!
//! # What it sends
//! A list of metadata, 500 objects a page, and for each object a merge patch that changes nothing but is only accepted in the version that
//! was listed (`metadata.uid`, `metadata.resourceVersion`). A server encodes the object in the storage version and writes it if these bytes
//! differ from those stored. So an object that is in that version already costs a request, but no write, and no watch sees an event.
//! Nothing of an object passes through the client, so nothing can be lost on the way. As with any write, the server drops what the storage
//! version has no field for; [`diff`](crate::diff) tells.
//!
//! # Other writers
//! If the patch is refused because the object has changed, another write stored it in the storage version. Objects that are deleted
//! meanwhile, or wait for their finalizers, are fine. The definition is read before and after: if it was changed between, all objects are
//! visited once more. `storedVersions` is changed only in the version of the definition that was read then.
//!
//! A server takes a moment until it stores objects in a new storage version. Before the first pass the definition has to be unchanged for
//! five seconds. If some of several servers have not seen the new definition by then, run the migration once more, with the old version
//! still served.
//!
//! # Cancellation
//! [`Migration::run`] may be dropped at any time. The next run goes on behind the last complete page, if there is a
//! [`state_file`](Migration::state_file), and else starts at the first object.

// `definition` reads what a migration needs to know. `machine` decides, `run` performs it, and `failure` says what a response means;
// `checkpoint` records the place at which the next run goes on. `outcome` and `error` are what the caller gets.

mod checkpoint;
mod definition;
mod error;
mod failure;
mod machine;
mod outcome;
mod run;

pub use error::MigrateError;
pub use outcome::{Progress, Refused, Summary};
pub use run::Migration;

#[cfg(test)]
mod tests;
