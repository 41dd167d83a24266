//! The manifests of an operator, from the values that run: CRDs, webhook configurations, roles, Deployment and what belongs to it.
//!
//! [`Manifests`] reads a [`Manager`](crate::manager::Manager) that is not run: the paths and kinds of its webhooks, where their certificate
//! comes from, its ports, what it watches, its Leases, what it [writes](crate::manager::Manager::writes). So a program has one function
//! that makes its manager, and a subcommand that writes the manifests of it:
//!
//! ```
//! use k8s_openapi::api::core::v1::ConfigMap;
//! use kube_client::{Api, Client};
//! use kube_core::admission::AdmissionRequest;
//! use kube_operator::{
//!     manager::{Manager, Writes},
//!     manifests::{Form, Manifests, offline_client},
//!     webhook::{Webhooks, certificates::SelfSigned},
//! };
//!
//! async fn check(_: AdmissionRequest<ConfigMap>) -> Result<(), String> {
//!     Ok(())
//! }
//!
//! fn manager(client: Client) -> Manager {
//!     let namespace = client.default_namespace().to_owned();
//!     let certificate = SelfSigned::new(client.clone(), &namespace, "checker").validating("checker");
//!     let maps = Api::<ConfigMap>::all(client.clone());
//!     Manager::new(client)
//!         .writes(&maps, Writes::Objects)
//!         .leader_election("checker", namespace)
//!         .serve_metrics(([0, 0, 0, 0], 8080))
//!         .webhooks(([0, 0, 0, 0], 9443), certificate, Webhooks::new().validate(check))
//! }
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
//! let manager = manager(offline_client("tools"));
//! let manifests = Manifests::new("checker", &manager).image("registry.example.com/checker:1.0.0");
//! let files = manifests.files([Form::Yaml, Form::Kustomize, Form::Helm])?;
//! let paths: Vec<_> = files.iter().map(|file| file.path.as_str()).collect();
//! assert!(paths.contains(&"install.yaml") && paths.contains(&"base/kustomization.yaml"));
//! assert!(paths.contains(&"chart/templates/deployment-checker.yaml"), "{paths:?}");
//! # Ok::<_, kube_operator::manifests::ManifestsError>(()) })?;
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```
//!
//! # Files
//!
//! | form | files | for |
//! |---|---|---|
//! | [`Form::Yaml`] | `install.yaml` | `kubectl apply -f install.yaml` |
//! | [`Form::Kustomize`] | `base/` | overlays of your own, beside it: `resources: [../base]` |
//! | [`Form::Helm`] | `chart/` | values of your own: `helm install -f my-values.yaml NAME chart` |
//! | each | `samples/` | objects given to [`Manifests::sample`] |
//! | each | `members/install.yaml` | other clusters, on which the program has controllers: [`Manifests::for_members`] |
//! | [`Form::Kustomize`] | `members/kustomization.yaml` | overlays of these |
//!
//! The same values give the same bytes: objects have the order in which they can be applied, fields are sorted, nothing has a time. Every
//! file begins with a line that says it is generated. [`Manifests::write`] replaces and removes only files with that line, so overlays and
//! values survive beside them; another file in the way is an error, before anything is written.
//!
//! - `command`: [`ManifestsCommand`], the subcommand of a program. `offline` is its client, which reaches nothing.
//! - `settings`: [`Manifests`], what is to be deployed.
//! - `placement`: where the objects are to be, and what they have in common.
//! - `objects`: the objects, in the order in which they are applied; of them `workload`, `network`, `roles`, `registration` and
//!   `monitoring`.
//! - `members`: the objects for other clusters.
//! - `text`: objects as YAML.
//! - `file`: names and first line of generated files.
//! - `forms`: files of plain YAML and a kustomize base; `chart`: those of a Helm chart.
//! - `folder`: writes files and compares them. `error` says why not.

mod chart;
mod command;
mod error;
mod file;
mod folder;
mod forms;
mod members;
mod monitoring;
mod network;
mod objects;
mod offline;
mod placement;
mod registration;
mod roles;
mod settings;
mod text;
mod workload;

pub use command::ManifestsCommand;
pub use error::ManifestsError;
pub use file::File;
pub use folder::Written;
pub use forms::Form;
pub use offline::offline_client;
pub use settings::{Manifests, Need};

#[cfg(test)]
mod tests;
