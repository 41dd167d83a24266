//! What a new definition of custom resources breaks, for stored objects and for clients: what `cargo kube crd diff` prints.
//!
//! [`compare`] walks the old and the new definitions together and asks each of the [`rules`] at each place. It needs no cluster.
//!
//! ```
//! use cargo_kube::diff::{Breaks, compare};
//! use cargo_kube::types::Definitions;
//!
//! let page = |maximum| Definitions::parse(&format!("
//! apiVersion: apiextensions.k8s.io/v1
//! kind: CustomResourceDefinition
//! metadata: {{name: pages.example.com}}
//! spec:
//!   group: example.com
//!   scope: Namespaced
//!   names: {{kind: Page, plural: pages}}
//!   versions:
//!   - name: v1
//!     served: true
//!     storage: true
//!     schema:
//!       openAPIV3Schema:
//!         type: object
//!         properties:
//!           spec:
//!             type: object
//!             properties: {{replicas: {{type: integer, maximum: {maximum}}}}}
//! "));
//! let changes = compare(&page(10)?, &page(5)?);
//! assert_eq!(changes.len(), 1);
//! assert_eq!((changes[0].rule(), changes[0].breaks()), ("maximum-lowered", Breaks::ObjectsAndClients));
//! assert_eq!(changes[0].path(), ".spec.replicas");
//! # Ok::<(), cargo_kube::types::Error>(())
//! ```
//!
//! # What is compared
//! Versions of the same name. If objects are converted by name only (no conversion webhook), also each new version with the one in which
//! objects were stored, by the rules about objects: as long as both versions exist, what one of them lacks is lost when an object is
//! written in it.
//!
//! Servers since Kubernetes 1.30 accept an update of an object whose invalid values it does not change. So a limit that became tighter
//! refuses such an object only if the value changes, or the object is created again. `cargo kube crd check` tells which objects that
//! concerns.

// `rule` is what a rule asks, and `change` what it finds. `compare` takes the definitions, `walk` their schemas, both by the `table` of all
// rules: those of `definition`, `schema` and `limit`.

mod change;
mod definition;
mod limit;
mod rule;
mod schema;
// All of them, asked at each place.
mod compare;
mod table;
mod walk;

pub use change::Change;
pub use compare::compare;
pub use rule::{Breaks, Rule};
pub use table::rules;

#[cfg(test)]
mod tests;
