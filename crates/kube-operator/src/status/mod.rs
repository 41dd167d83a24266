//! Writing the status of an object: its conditions, and the write itself.
//!
//! - `conditions`: [`Conditions`] sets the conditions of a status.
//! - `summary`: [`Summary`] computes one condition, such as `Ready`, from the others.
//! - `check`: types, reasons and messages that servers accept.
//! - `write`: [`apply_status`] writes a status if it differs from the cached one.
//!
//! ```
//! use k8s_openapi::{api::core::v1::ConfigMap, apimachinery::pkg::apis::meta::v1::Condition};
//! use kube_client::Api;
//! use kube_core::Resource;
//! use kube_operator::status::{Conditions, StatusError, Summary, apply_status};
//! # #[derive(Clone, Debug, serde::Deserialize, serde::Serialize)]
//! # struct Page { metadata: kube_core::ObjectMeta, status: Option<PageStatus> }
//! # impl Resource for Page {
//! #     type DynamicType = ();
//! #     type Scope = k8s_openapi::NamespaceResourceScope;
//! #     fn kind(_: &()) -> std::borrow::Cow<'_, str> { "Page".into() }
//! #     fn group(_: &()) -> std::borrow::Cow<'_, str> { "example.com".into() }
//! #     fn version(_: &()) -> std::borrow::Cow<'_, str> { "v1".into() }
//! #     fn plural(_: &()) -> std::borrow::Cow<'_, str> { "pages".into() }
//! #     fn meta(&self) -> &kube_core::ObjectMeta { &self.metadata }
//! #     fn meta_mut(&mut self) -> &mut kube_core::ObjectMeta { &mut self.metadata }
//! # }
//!
//! #[derive(Clone, Debug, Default, serde::Deserialize, serde::Serialize)]
//! struct PageStatus {
//!     conditions: Vec<Condition>,
//! }
//!
//! async fn report(pages: &Api<Page>, page: &Page, ready_replicas: u32) -> Result<(), Box<dyn std::error::Error>> {
//!     let mut status = page.status.clone().unwrap_or_default();
//!     let mut conditions = Conditions::new(&mut status.conditions, page.metadata.generation);
//!     conditions.set("Available", ready_replicas > 0, "ReplicasCounted", format!("{ready_replicas} replicas are ready"))?;
//!     conditions.summarize("Ready", &Summary::default())?;
//!     apply_status(pages, "pages.example.com", page, &status).await?;
//!     Ok(())
//! }
//!
//! /// A program without a controller and its cache, such as a script, sets a condition in one call.
//! async fn publish(pages: &Api<Page>, name: &str) -> Result<Page, Box<dyn std::error::Error>> {
//!     let set = |page: &mut Page| {
//!         let status = page.status.get_or_insert_default();
//!         Conditions::new(&mut status.conditions, page.metadata.generation).set("Published", true, "Uploaded", "")?;
//!         Ok(())
//!     };
//!     pages.update_status_with_retry(name, set).await
//! }
//! ```

mod check;
mod condition_status;
mod conditions;
mod summary;
#[cfg(test)]
mod summary_tests;
mod write;

pub use check::InvalidCondition;
pub use condition_status::ConditionStatus;
pub use conditions::Conditions;
pub use summary::Summary;
pub use write::{StatusError, StatusWrite, apply_status, apply_status_with};
