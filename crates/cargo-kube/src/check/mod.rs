//! Which stored objects a new definition of custom resources would refuse: what `cargo kube crd check` does.
//!
//! A [`Checker`] runs the embedded API server (`kube-testserver`) in this process, and sends to it what clients would send to a cluster. No
//! cluster is changed.
//!
//! ```
//! use cargo_kube::check::{Checker, Outcome};
//! use cargo_kube::types::Definitions;
//! use kube_tools::yaml::Objects;
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
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
//!         properties:
//!           spec: {type: object, properties: {replicas: {type: integer, maximum: 5}}}
//! ")?;
//! let objects = Objects::parse("
//! {apiVersion: example.com/v1, kind: Page, metadata: {name: a}, spec: {replicas: 3}}
//! --- # this value was stored when there was no maximum
//! {apiVersion: example.com/v1, kind: Page, metadata: {name: b}, spec: {replicas: 20}}
//! ")?;
//! let definition = definitions.iter().next().ok_or("no definition")?;
//! let verdicts = Checker::new(definition, None).await?.check(objects).await?;
//! assert_eq!(verdicts[0].outcome, Outcome::Accepted);
//! assert!(matches!(&verdicts[1].outcome, Outcome::Tolerated(message) if message.contains("less than or equal to 5")));
//! # Ok(())
//! # }
//! ```
//!
//! # What is checked
//! Each object is stored as it is, without validation, as if an earlier definition had accepted it. Then, with the new definition, as dry
//! runs:
//!
//! 1. it is read and written back without a change, and with another annotation. A server accepts invalid values that an update does not
//!    change ("ratcheting", Kubernetes 1.30 and newer), where it can tell: not in lists without keys, and not for rules of an object in
//!    which anything was changed. If either write fails, the object is [`Refused`](Outcome::Refused);
//! 2. it is created as a new object. If that fails, valid values around each invalid one are changed. If that fails for the same reason, as
//!    it does beside a field that is missing, the object is [`Refused`](Outcome::Refused) too: no client can change it, `kubectl scale`
//!    included. Otherwise it is [`Tolerated`](Outcome::Tolerated): a client that changes the invalid value, or creates the object on
//!    another cluster, gets the message;
//! 3. fields that the new definition does not have are [`Lost`](Outcome::Lost) at the next write.
//!
//! `status` is checked like the other fields. An object is written in its own version if the new definition serves it. If not, it is
//! converted by name to the storage version; conversion webhooks are not called, so with one it is refused. Admission webhooks and policies
//! of a cluster are not asked.

mod checker;
mod lost;
mod probe;
mod verdict;

pub use checker::{CheckError, Checker};
// For the program of this package only.
#[doc(hidden)]
pub use probe::changes;
pub use verdict::{Outcome, Verdict};

#[cfg(test)]
mod tests;
