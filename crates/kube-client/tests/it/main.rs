//! The client against the embedded API server: in process, over a socket, and over TLS.

mod api;
#[cfg(feature = "rustls-tls")]
mod corpus;
mod cut;
mod dead;
mod deep;
#[cfg(all(
    feature = "oauth",
    feature = "oidc",
    feature = "rustls-tls",
    feature = "openssl-tls",
    feature = "ws",
    feature = "unstable-client"
))]
mod errors;
mod failure;
#[cfg(feature = "gzip")]
mod gzip;
mod hole;
#[cfg(feature = "kubelet-debug")]
mod kubelet;
mod lifetime;
mod methods;
#[cfg(feature = "ws")]
mod pods;
#[cfg(unix)]
mod program;
#[cfg(feature = "unstable-client")]
mod scope;
#[cfg(unix)]
mod secrets;
mod server;
mod transport;
#[cfg(feature = "ws")]
mod upgrade;
mod watch;
