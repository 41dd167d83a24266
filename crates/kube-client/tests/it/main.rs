//! The client against the embedded API server: in process, over a socket, and over TLS.

mod api;
mod black_hole;
mod closed_connection;
mod connect_errors;
#[cfg(feature = "rustls-tls")]
mod corpus;
mod credentials;
#[cfg(all(
    feature = "oauth",
    feature = "oidc",
    feature = "rustls-tls",
    feature = "openssl-tls",
    feature = "ws",
    feature = "unstable-client"
))]
mod errors;
#[cfg(unix)]
mod exec_plugin;
#[cfg(feature = "gzip")]
mod gzip;
#[cfg(unix)]
mod kubeconfigs;
#[cfg(feature = "kubelet-debug")]
mod kubelet;
mod lifetime;
mod malformed_responses;
mod metadata;
mod methods;
mod own_writes;
mod pages;
#[cfg(feature = "ws")]
mod pods;
mod prune;
mod recorder;
#[cfg(feature = "ws")]
mod running_pod;
#[cfg(feature = "unstable-client")]
mod scope;
#[cfg(unix)]
mod secrets;
mod server;
mod tasks;
mod timeouts;
mod transport;
mod updates;
mod watch;
#[cfg(feature = "ws")]
mod websocket;
mod with_transport;
