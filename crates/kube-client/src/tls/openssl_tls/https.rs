//! The https connector, from the settings of a [`Config`].

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
use super::trust_anchors::TrustAnchors;
use super::{OpensslTlsError, SslConnectorError};
use crate::config::Config;
use crate::tls::identity::{CurrentIdentity, IdentitySource};
use crate::tls::{Alpn, Peer, TlsError};

/// The CA certificates and the client certificate as they are now. Later changes of their files have no effect.
pub(crate) fn ssl_connector_builder(config: &Config, peer: &Peer) -> Result<SslConnectorBuilder, TlsError> {
    let current = PerConnection::of(config, peer)?;
    let mut settings = settings(config, Alpn::Http1)?;
    let store = current.trust.store().map_err(|err| SslConnectorError::AddRootCertificate(err.into()));
    if let Some(store) = store.map_err(openssl_error)? {
        settings.set_cert_store(store);
    }
    if let Some(identity) = current.identity.and_then(|identity| identity.current()) {
        let set = identity.set_on_builder(&mut settings).map_err(SslConnectorError::UseIdentity);
        set.map_err(openssl_error)?;
    }
    Ok(settings)
}

/// Adds TLS to the https connections of `connector`; http URLs stay without.
pub(crate) fn https_connector<H>(
    config: &Config,
    connector: H,
    peer: &Peer,
    alpn: Alpn,
) -> Result<HttpsConnector<H>, TlsError>
where
    H: Service<Uri> + Send,
    H::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    H::Future: Send + 'static,
    H::Response: Read + Write + Connection + Unpin,
{
    let per_connection = PerConnection::of(config, peer)?;
    let connector = HttpsConnector::with_connector(connector, settings(config, alpn)?);
    let mut connector =
        connector.map_err(|err| TlsError::Openssl(OpensslTlsError::CreateHttpsConnector(err)))?;
    connector.set_callback(move |connection, url| per_connection.apply(connection, url));
    Ok(connector)
}

/// The settings that are read for each connection, since their files may change.
struct PerConnection {
    trust: TrustAnchors,
    identity: Option<CurrentIdentity<OpensslIdentity>>,
    server_name: Option<String>,
}

impl PerConnection {
    fn of(config: &Config, peer: &Peer) -> Result<Self, TlsError> {
        let trust = TrustAnchors::of(config, peer).map_err(openssl_error)?;
        let (source, server_name) = match peer {
            Peer::Server { identity_provider } => (
                IdentitySource::of(&config.auth_info, identity_provider.clone())?,
                config.tls_server_name.clone(),
            ),
            Peer::Proxy => (None, None),
        };
        let identity = source.map(|source| CurrentIdentity::new(source, OpensslIdentity::parse));
        Ok(Self { trust, identity: identity.transpose().map_err(openssl_error)?, server_name })
    }

    fn apply(&self, connection: &mut ConnectConfiguration, url: &Uri) -> Result<(), ErrorStack> {
        self.trust.set_on(connection)?;
        if let Some(identity) = self.identity.as_ref().and_then(CurrentIdentity::current) {
            identity.set_on_connection(connection)?;
        }
        // hyper-openssl would use the host as it is in the URL, but an IPv6 address in brackets is no valid name.
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

fn settings(config: &Config, alpn: Alpn) -> Result<SslConnectorBuilder, TlsError> {
    let mut settings = SslConnector::builder(SslMethod::tls())
        .map_err(|err| openssl_error(SslConnectorError::CreateBuilder(err)))?;
    let protocols: &[u8] = match alpn {
        Alpn::Http2OrHttp1 => b"\x02h2\x08http/1.1",
        Alpn::Http1 => b"\x08http/1.1",
    };
    settings
        .set_alpn_protos(protocols)
        .map_err(|err| openssl_error(SslConnectorError::OfferProtocols(err)))?;
    if config.accept_invalid_certs {
        settings.set_verify(SslVerifyMode::NONE);
        // Or OpenSSL would refuse small keys.
        settings.set_security_level(0);
    }
    Ok(settings)
}

fn openssl_error(err: SslConnectorError) -> TlsError {
    TlsError::Openssl(err.into())
}
