//! TLS by rustls: whom to trust, and what to show.

mod connector;
mod error;
mod identity;
mod provider;
mod roots;
mod stamp;

pub(crate) use connector::{Offer, client_config, https_connector};
pub use error::RustlsTlsError;
