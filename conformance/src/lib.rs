//! What a Kubernetes API server does, rule by rule, checked over plain HTTP against any server.
//!
//! Each case names the rule it checks and runs in a namespace of its own. The suite is written from the answers of genuine
//! API servers; where they differ by version, the case states both expectations and the version that separates them.
//! A case that needs kinds or identities which a server lacks counts as *not applicable* and is listed as such.
//!
//! ```text
//! cargo run -p conformance -- --kubeconfig FILE [--area A] [--case SUBSTRING] [--clean-up] [--json FILE]
//! ```

mod area;
mod case;
mod check;
mod client;
mod context;
mod hook;
mod items;
mod kinds;
mod kubeconfig;
mod report;
mod runner;
mod server;
mod subject;
mod table;

pub use check::Failure;
pub use items::{list as list_by_item, with_items};
pub use report::{CaseResult, Report, Verdict};
pub use runner::{Options, list, run};
pub use table::with_column;
