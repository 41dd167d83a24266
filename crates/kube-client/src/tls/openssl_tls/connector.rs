//! From a [`Config`] to connections with TLS.

use std::net::IpAddr;

use http::Uri;
use hyper::rt::{Read, Write};
use hyper_openssl::client::legacy::HttpsConnector;
use hyper_util::client::legacy::connect::Connection;
use openssl::error::ErrorStack;
use openssl::ssl::{ConnectConfiguration, SslConnector, SslConnectorBuilder, SslMethod, SslVerifyMode};
use openssl::x509::verify::X509CheckFlags;
use tower_service::Service;

use super::identity::OpensslIdentity;
use super::roots::Trust;
use super::{OpensslTlsError, SslConnectorError};
use crate::config::Config;
use crate::tls::identity::{CurrentIdentity, IdentityOrigin};
use crate::tls::{Offer, Peer, TlsError};

/// The settings as they are now: whom to trust, and the client certificate if there is one. They do not follow files.
pub(crate) fn ssl_connector_builder(config: &Config, peer: &Peer) -> Result<SslConnectorBuilder, TlsError> {
    let made = PerConnection::of(config, peer)?;
    let mut settings = settings(config, Offer::Any)?;
    let stored = made.trust.store().map_err(|err| SslConnectorError::AddRootCertificate(err.into()));
    if let Some(store) = stored.map_err(openssl_error)? {
        settings.set_cert_store(store);
    }
    if let Some(identity) = made.identity.and_then(|identity| identity.current()) {
        let set = identity.set_in(&mut settings).map_err(SslConnectorError::UseIdentity);
        set.map_err(openssl_error)?;
    }
    Ok(settings)
}

/// Puts TLS around a connector. URLs with http go through without it.
pub(crate) fn https_connector<H>(
    config: &Config,
    connector: H,
    peer: &Peer,
    offer: Offer,
) -> Result<HttpsConnector<H>, TlsError>
where
    H: Service<Uri> + Send,
    H::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    H::Future: Send + 'static,
    H::Response: Read + Write + Connection + Unpin,
{
    let per_connection = PerConnection::of(config, peer)?;
    let connector = HttpsConnector::with_connector(connector, settings(config, offer)?);
    let mut connector =
        connector.map_err(|err| TlsError::Openssl(OpensslTlsError::CreateHttpsConnector(err)))?;
    connector.set_callback(move |connection, url| per_connection.apply(connection, url));
    Ok(connector)
}

/// What is looked up anew for each connection.
struct PerConnection {
    trust: Trust,
    identity: Option<CurrentIdentity<OpensslIdentity>>,
    server_name: Option<String>,
}

impl PerConnection {
    fn of(config: &Config, peer: &Peer) -> Result<Self, TlsError> {
        let trust = Trust::of(config, peer).map_err(openssl_error)?;
        let (origin, server_name) = match peer {
            Peer::Server { giver } => {
                (IdentityOrigin::of(&config.auth_info, giver.clone())?, config.tls_server_name.clone())
            }
            Peer::Proxy => (None, None),
        };
        let identity = origin.map(|origin| CurrentIdentity::new(origin, OpensslIdentity::parse));
        Ok(Self { trust, identity: identity.transpose().map_err(openssl_error)?, server_name })
    }

    fn apply(&self, connection: &mut ConnectConfiguration, url: &Uri) -> Result<(), ErrorStack> {
        self.trust.set_on(connection)?;
        if let Some(identity) = self.identity.as_ref().and_then(CurrentIdentity::current) {
            identity.show_on(connection)?;
        }
        // The connector would take the host as the URL spells it: an IPv6 address in brackets is no name.
        connection.set_use_server_name_indication(false);
        connection.set_verify_hostname(false);
        let host = url.host().unwrap_or_default();
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        let expected = self.server_name.as_deref().unwrap_or(host);
        connection.param_mut().set_hostflags(X509CheckFlags::NO_PARTIAL_WILDCARDS);
        match expected.parse::<IpAddr>() {
            Ok(address) => connection.param_mut().set_ip(address),
            Err(_) => {
                connection.set_hostname(expected)?;
                connection.param_mut().set_host(expected)
            }
        }
    }
}

fn settings(config: &Config, offer: Offer) -> Result<SslConnectorBuilder, TlsError> {
    let mut settings = SslConnector::builder(SslMethod::tls())
        .map_err(|err| openssl_error(SslConnectorError::CreateBuilder(err)))?;
    let protocols: &[u8] = match offer {
        Offer::Any => b"\x02h2\x08http/1.1",
        Offer::Http1 => b"\x08http/1.1",
    };
    settings
        .set_alpn_protos(protocols)
        .map_err(|err| openssl_error(SslConnectorError::OfferProtocols(err)))?;
    if config.accept_invalid_certs {
        settings.set_verify(SslVerifyMode::NONE);
    }
    Ok(settings)
}

fn openssl_error(err: SslConnectorError) -> TlsError {
    TlsError::Openssl(err.into())
}
