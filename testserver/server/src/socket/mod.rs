//! The server on a socket.
//!
//! `test_server` opens it, with the certificates and tokens of `pki`; `kubeconfig` tells clients about both. `start_error` says why that
//! failed.

mod kubeconfig;
mod pki;
mod start_error;
mod test_server;

pub use start_error::StartError;
pub use test_server::TestServer;

pub(crate) use pki::ServingCertificate;
pub(crate) use test_server::{Socket, open};
