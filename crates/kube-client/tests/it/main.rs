//! The client against the embedded API server: in process, over a socket, and over TLS.

mod api;
mod apply;
#[cfg(feature = "apply-set")]
mod apply_set;
mod black_hole;
mod closed_connection;
mod connect_errors;
#[cfg(feature = "rustls-tls")]
mod corpus;
mod crds;
mod cutter;
mod definition;
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
mod methods;
mod pages;
#[cfg(feature = "ws")]
mod pod_exec;
#[cfg(all(feature = "cp", unix))]
mod pod_files;
#[cfg(feature = "ws")]
mod pod_forward;
mod pod_logs;
#[cfg(feature = "ws")]
mod pods;
mod prune;
#[cfg(feature = "unstable-client")]
mod scope;
#[cfg(unix)]
mod secrets;
mod server;
mod tables;
mod timeouts;
mod transport;
mod updates;
mod wait;
mod watch;
#[cfg(feature = "ws")]
mod websocket;
mod with_transport;
#[cfg(feature = "yaml")]
mod yaml;
#[cfg(feature = "apply-set")]
mod yaml_deploy;
