//! From a [`Config`] to connections with TLS.

use std::sync::Arc;

use hyper_rustls::{FixedServerNameResolver, HttpsConnector, HttpsConnectorBuilder};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;

use super::RustlsTlsError;
use super::identity::CurrentIdentity;
use super::provider::crypto_provider;
use super::roots::server_verifier;
use crate::auth::Credential;
use crate::config::{ClientIdentityPem, Config};

/// The settings of rustls: whom to trust, and the client certificate if there is one.
///
/// `identity` is the user's own as it was loaded; where there is none, a credential program may give one.
pub(crate) fn client_config(
    config: &Config,
    identity: Option<&ClientIdentityPem>,
    credential: Option<&Credential>,
) -> Result<ClientConfig, RustlsTlsError> {
    let provider = crypto_provider();
    let verifier = server_verifier(config, &provider)?;
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|err| RustlsTlsError::AddRootCertificate(err.into()))?
        .dangerous()
        .with_custom_certificate_verifier(verifier);
    let shown = match (identity, credential) {
        (Some(identity), _) => CurrentIdentity::of_user(&config.auth_info, identity, provider)?,
        (None, Some(Credential::Renewing(renewing))) => {
            CurrentIdentity::renewing(Arc::clone(renewing), provider)
        }
        (None, _) => return Ok(builder.with_no_client_auth()),
    };
    Ok(builder.with_client_cert_resolver(Arc::new(shown)))
}

/// Which versions of HTTP the server may choose from.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Offer {
    /// HTTP/2 and HTTP/1.1.
    Any,
    /// HTTP/1.1 alone, for upgrades.
    Http1,
}

/// Puts TLS around a connector. URLs with http go through without it.
pub(crate) fn https_connector<H>(
    config: &Config,
    tls: ClientConfig,
    connector: H,
    offer: Offer,
) -> Result<HttpsConnector<H>, RustlsTlsError> {
    let mut builder = HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http();
    if let Some(name) = &config.tls_server_name {
        let name = ServerName::try_from(name.clone()).map_err(RustlsTlsError::InvalidServerName)?;
        builder = builder.with_server_name_resolver(FixedServerNameResolver::new(name));
    }
    Ok(match offer {
        Offer::Any => builder.enable_http1().enable_http2().wrap_connector(connector),
        Offer::Http1 => builder.enable_http1().wrap_connector(connector),
    })
}
