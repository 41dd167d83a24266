//! Breaks an operator in every place, before production does.
//!
//! [`Verify`] runs a whole operator against a [test server](kube_testserver) in the process, in simulated time. It learns what the operator
//! does without faults, then tries one fault at each place: a crash before and after each write, an answer that is lost, a request that is
//! refused, a watch that lags, a restart at each step. After each step of the workload, the state of the cluster must be the one that the
//! run without faults had; nothing may be left over, stuck, or created twice, and no password may be generated again.
//!
//! ```no_run
//! use kube_verify::{ApiService, Verify};
//!
//! # async fn run_operator(_: ApiService) {}
//! # fn main() {
//! Verify::new(|_| |service: ApiService| run_operator(service))
//!     .crds(std::path::Path::new("deploy/crds"))
//!     .step("create", |step| step.apply("apiVersion: example.com/v1\nkind: Page\nmetadata: {name: a}\nspec: {text: one}\n"))
//!     .step("change", |step| step.patch_of("Page", "a", serde_json::json!({"spec": {"text": "two"}})))
//!     .step("delete", |step| step.delete_of("Page", "a"))
//!     .run();
//! # }
//! ```
//!
//! The operator is a function of a tower service, so any client library will do. With the feature `kube` it may be a function of this
//! workspace's `Client`, whose retries are then part of what is tried.
//!
//! Everything runs on one thread with paused tokio time: a simulated half hour takes milliseconds, and a failing plan fails again.

// The modules, in the order in which a verification uses them:
//
// - What the user writes: `verify` is the builder, `operator` what is tried with its `webhooks`, `workload` its steps, `invariant` a
//   condition, `family` a kind of faults; all of it is the `scenario`.
// - What a run is made of: `kinds` and `state` know objects and compare states, `plan` says which fault comes where, `gate` stands between
//   the operator and the server and writes the `trace`, `run` is one run, `outcome` what it has shown, `panics` those of the operator and
//   of the test, a `watchdog` ends one that never awaits, and an `interrupt` all of them.
// - What all runs are for: `learn` finds out what is normal, `choose` makes a plan for each place, `edits` for what users do
//   to objects, whose `fields` have other values by their schema and whose `statuses` are partly the operator's, `oracle` judges, a
//   `finding` is what it says, `explore` goes through all plans, `report` tells the result. `options` come from the command line, `shards`
//   are processes that share the plans, `list` prints them.
mod choose;
mod edits;
mod explore;
mod family;
mod fields;
mod finding;
mod gate;
mod interrupt;
mod invariant;
mod kinds;
mod learn;
mod list;
mod operator;
mod options;
mod oracle;
mod outcome;
mod panics;
mod plan;
mod report;
mod run;
mod scenario;
mod shards;
mod state;
mod statuses;
mod trace;
mod verify;
mod watchdog;
mod webhooks;
mod workload;

pub use family::{Families, Family};
pub use finding::{Finding, Oracle};
pub use gate::{ApiService, Body};
pub use operator::{Operator, World};
pub use plan::PlanError;
pub use report::Report;
pub use state::State;
pub use verify::Verify;
pub use webhooks::WebhookServices;
pub use workload::Step;
