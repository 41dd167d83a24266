//! The server on a socket.

mod kubeconfig;
mod pki;
mod test_server;

pub use test_server::{StartError, TestServer};

pub(crate) use test_server::{Socket, open};
