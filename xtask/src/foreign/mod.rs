//! Jobs that run suites of other projects against the embedded server.
//!
//! `table` has a row for each, `suite` runs one. What is particular to one of them: `helm`, `controller_runtime`, `official_e2e`,
//! `catalogue`.

mod catalogue;
mod controller_runtime;
mod helm;
mod official_e2e;
mod suite;
mod table;

pub(crate) use suite::run;
pub(crate) use table::{CATALOGUE, CONTROLLER_RUNTIME, HELM, JAVASCRIPT, KUBEBUILDER, OFFICIAL_E2E};
