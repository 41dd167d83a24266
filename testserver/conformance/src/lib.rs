//! The behaviour of a Kubernetes API server, rule by rule, checked over plain HTTP against any server.
//!
//! Each case checks one rule in its own namespace. Expectations come from genuine API servers; where versions differ, a case names the
//! version since which its rule holds. A case whose kinds, identities or version a server lacks is reported as *not applicable*; no case
//! passes by the rule of another version.
//!
//! ```text
//! cargo run -p conformance -- --kubeconfig FILE [--area A] [--case SUBSTRING] [--clean-up] [--json FILE]
//! ```

// - Cases: `area` has them, each a `case`; `subject` and `kinds` are what they work on, `capabilities` what they need, `features` what they
//   cover; `check` compares.
// - Servers: `kubeconfig` finds one, `client` talks to it, `server` is the one under test, `webhook` one that it calls; `genuine` knows
//   which cases do not apply to the genuine one, `unchecked` what the embedded one does not check.
// - A run: `runner` calls each case with its `context`; `report` has the results, `table` and `section` write them into a page.

mod area;
mod capabilities;
mod case;
mod check;
mod client;
mod context;
mod features;
mod genuine;
mod kinds;
mod kubeconfig;
mod report;
mod runner;
mod section;
mod server;
mod subject;
mod table;
mod unchecked;
mod webhook;

pub use check::Failure;
pub use features::{list as list_by_feature, with_features};
pub use report::{CaseResult, Report, Verdict};
pub use runner::{Options, list, run};
pub use table::with_column;
pub use unchecked::with_unchecked;
