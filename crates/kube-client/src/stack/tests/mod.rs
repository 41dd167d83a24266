//! The stack over real sockets: TLS by each library of the build, and each kind of proxy.
//!
//! `servers` accepts connections; `tls` and `odd_certificates` are about trust, `proxy` and `websocket` about what is in between,
//! `exchange` about credentials that change.

mod exchange;
#[cfg(all(feature = "rustls-tls", feature = "openssl-tls"))]
mod odd_certificates;
mod proxy;
mod servers;
mod tls;
#[cfg(feature = "ws")]
mod websocket;

use hyper_util::rt::TokioExecutor;

use super::compose::compose_with;
use crate::Client;
use crate::config::Config;
use crate::error::Error;
use crate::tls::Backend;

/// The TLS libraries of this build.
fn backends() -> Vec<(&'static str, Backend)> {
    vec![
        #[cfg(all(feature = "rustls-tls", feature = "ring"))]
        ("ring", Backend::Rustls(|| Ok(std::sync::Arc::new(rustls::crypto::ring::default_provider())))),
        #[cfg(all(feature = "rustls-tls", feature = "aws-lc-rs"))]
        (
            "aws-lc-rs",
            Backend::Rustls(|| Ok(std::sync::Arc::new(rustls::crypto::aws_lc_rs::default_provider()))),
        ),
        #[cfg(feature = "openssl-tls")]
        ("openssl", Backend::Openssl),
    ]
}

fn client(config: &Config, backend: Backend) -> Result<Client, Error> {
    Ok(Client::of_stack(compose_with(Some(backend), config, TokioExecutor::new())?, "default"))
}

/// The client certificate that the server received, as it reports it.
async fn client_certificate(client: &Client) -> Result<String, Error> {
    client.request_text(http::Request::get("/").body(Vec::new()).unwrap()).await
}

/// An error with its sources.
fn error_text(err: &(dyn std::error::Error + 'static)) -> String {
    crate::error::ErrorChain(err).to_string()
}
