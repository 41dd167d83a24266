//! What programs do with a cluster every day, beyond single requests: files of YAML, waiting, tables, and running pods.
//!
//! [`ApiExt`] adds the methods to [`Api`](kube_client::Api). Programs that depend on `kube` have all of this with its feature `tools`.
//!
//! ```
//! use std::time::Duration;
//! use k8s_openapi::api::core::v1::Namespace;
//! use kube_client::{Api, Client};
//! use kube_tools::ApiExt;
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let client = Client::new(kube_testserver::ApiServer::new(), "default");
//!
//! let namespaces: Api<Namespace> = Api::all(client);
//! namespaces.wait_ready("default", Duration::from_secs(60)).await?;
//! println!("{}", namespaces.table(&Default::default()).await?);
//! # Ok(())
//! # }
//! ```
//!
//! # Features
//! None is on by default.
//!
//! | feature | enables |
//! |---|---|
//! | `ws` | commands in pods and forwarded ports |
//! | `cp` | copies to and from pods; enables `ws` |
//! | `diff` | `yaml::ObjectResult::diff`: what a write changes, as a unified diff |
//! | `apply-set` | `apply_set` and `yaml::Applier::prune`: applying sets of objects with pruning, as kubectl does |

// - One object: `api_ext` adds the methods to `Api`; `apply` writes it, `wait` waits for it, `ready` says whether it is ready, `table`
//   shows it.
// - Running pods: `pods`.
// - Many objects of any kinds: `yaml` reads them and `yaml_text` writes them; `kind_order` sorts them; `apply_set` prunes what is no more
//   in a set; `crds` has the definitions of their kinds.

// Methods of `Api`.
mod api_ext;

// One object: applied, waited for, shown as a row.
pub mod apply;
pub mod ready;
pub mod table;
pub mod wait;

// Running pods.
pub mod pods;

// Many objects of any kinds.
#[cfg(feature = "apply-set")]
pub mod apply_set;
pub mod crds;
pub mod kind_order;
pub mod yaml;
mod yaml_text;

pub use api_ext::ApiExt;
