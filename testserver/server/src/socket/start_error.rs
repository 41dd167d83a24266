//! Why a server could not start.

use std::{io, net::IpAddr};

use kube_serve::listener::TlsError;

use crate::{DataError, LoadError};

/// Why a server could not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The port is in use or not permitted; port 0 selects a free one.
    #[error("cannot listen on port {port}")]
    Bind {
        /// The requested port.
        port: u16,
        /// The error of the operating system.
        #[source]
        source: io::Error,
    },
    /// The address is not one of this machine.
    #[error("cannot listen on the address {address}: expected an address of this machine")]
    Address {
        /// The requested address.
        address: IpAddr,
        /// The error of the operating system.
        #[source]
        source: io::Error,
    },
    /// A name for the server certificate is neither a DNS name nor an IP address.
    #[error("cannot issue a certificate for {name:?}: expected a DNS name or an IP address")]
    CertificateName {
        /// The name, as given.
        name: String,
    },
    /// Generating the certificates failed.
    #[error("cannot generate the server's certificates")]
    Certificates(#[source] rcgen::Error),
    /// The generated certificates cannot be used.
    #[error("cannot use the server's certificates")]
    Tls(#[from] TlsError),
    /// The key of [`Builder::service_account_key`](crate::Builder::service_account_key) cannot be used; the text says why.
    #[error("cannot sign service account tokens: expected an ECDSA P-256 key, PKCS#8 in PEM: {0}")]
    ServiceAccountKey(String),
    /// An initial object cannot be read or was rejected.
    #[error("cannot load the initial objects")]
    Objects(#[from] LoadError),
    /// Timestamps of objects have years from 0 to 9999.
    #[error(
        "cannot start the clock at {start}: expected a time from 0000-01-01T00:00:00Z to 9999-12-30T22:00:00Z"
    )]
    StartTime {
        /// The time in [`Builder::start_time`](crate::Builder::start_time).
        start: jiff::Timestamp,
    },
    /// An entry of [`Builder::runtime_config`](crate::Builder::runtime_config) is invalid; the text names it and what was expected.
    #[error("{0}")]
    RuntimeConfig(String),
    /// What [`Builder::service_range`](crate::Builder::service_range) got is no range of IPv4 addresses.
    #[error("cannot give services addresses: {0}")]
    ServiceRange(String),
    /// [`Builder::with_delay`](crate::Builder::with_delay) delays nothing.
    #[error(
        "cannot delay {controller:?}: expected a controller that is on and has work to do after a change"
    )]
    Delay {
        /// The controller.
        controller: crate::BuiltInController,
    },
    /// A setting of the state differs from that of the server in [`Builder::api`](crate::Builder::api).
    #[error("cannot change `{setting}` of an existing server: expected what the server was built with")]
    ExistingServer {
        /// The call of the builder.
        setting: &'static str,
    },
    /// The data directory cannot be used.
    #[error("cannot use the data directory")]
    Data(#[from] DataError),
}
