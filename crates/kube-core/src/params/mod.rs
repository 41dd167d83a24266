//! Parameters of the verbs of the API.
//!
//! Parameters are plain data; building a [`Request`](crate::Request) validates them.
//!
//! ```
//! use kube_core::{Request, params::{ListParams, Patch, PatchParams, PostParams, VersionMatch}, request::Error};
//! use serde_json::json;
//!
//! let maps = Request::new("/api/v1/namespaces/web/configmaps");
//!
//! let dry = PostParams { dry_run: true, field_manager: Some("me".into()) };
//! let create = maps.create(&dry, br#"{"metadata": {"name": "settings"}}"#.to_vec())?;
//! assert_eq!(create.uri().query(), Some("&dryRun=All&fieldManager=me"));
//!
//! let snapshot = ListParams::default().at("42").matching(VersionMatch::Exact);
//! assert_eq!(maps.list(&snapshot)?.uri().query(), Some("&resourceVersion=42&resourceVersionMatch=Exact"));
//!
//! let nameless = Patch::Apply(json!({"apiVersion": "v1", "kind": "ConfigMap"}));
//! let rejected = maps.patch("settings", &PatchParams::default(), &nameless);
//! assert!(matches!(rejected, Err(Error::Validation(why)) if why.contains("field manager")));
//! # Ok::<(), Error>(())
//! ```

mod delete;
mod read;
mod watch;
mod write;

pub use delete::{DeleteParams, Preconditions, PropagationPolicy};
pub use read::{GetParams, ListParams, VersionMatch};
pub use watch::WatchParams;
pub use write::{Patch, PatchParams, PostParams, ValidationDirective};
