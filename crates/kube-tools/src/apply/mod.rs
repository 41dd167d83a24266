//! Server-side apply (KEP-555): configurations, what a manager applied, and the checks before a request.
//!
//! [`Api::apply`](crate::ApiExt::apply) sends a [`Configuration`]: a [`Sparse`] with exactly the fields that were written, or a whole
//! object. [`extract`] reads from an object what a manager applied, and [`Api::adopt`](crate::ApiExt::adopt) moves what a manager wrote by
//! other requests to what it applied, [`Api::adopt_from`](crate::ApiExt::adopt_from) what another one wrote. Who owns which field is in the
//! error of a refused apply: [`Error::field_conflicts`](kube_client::Error::field_conflicts).
//!
//! - `request`: the requests.
//! - `body`: the checked body of an apply request.
//! - `adopt`: managed fields in which updates of a manager have become applies.
//!
//! What needs no client is in [`kube_core::apply`].

mod adopt;
mod body;
mod request;

pub use kube_core::apply::{
    Configuration, ExtractError, ListMapKeys, MissingKey, Sparse, SparseError, extract,
};

pub(crate) use adopt::client_side_managers;
pub(crate) use request::{adopt, apply, apply_status};
