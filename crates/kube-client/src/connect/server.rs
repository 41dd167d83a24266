//! The connector to the server of a configuration.

use super::ConnectError;
use super::endpoint::is_https;
use super::proxy::proxy_connector;
use crate::config::{Config, Schemes, check_url};
use crate::tls::{Alpn, Backend, Peer, with_tls};
use crate::transport::{BoxConnector, secured_connector, tcp_connector};

/// Connects to the server of `config`: through its proxy if it has one, with TLS if its URL is https.
pub(crate) fn server_connector(
    backend: Option<Backend>,
    config: &Config,
    peer: &Peer,
    alpn: Alpn,
) -> Result<BoxConnector, ConnectError> {
    check_url(&config.cluster_url, Schemes::Http).map_err(ConnectError::ServerUrl)?;
    let proxied = |proxy| proxy_connector(proxy, backend, config);
    if !is_https(&config.cluster_url) {
        return config.proxy_url.as_ref().map_or_else(|| Ok(tcp_connector()), proxied);
    }
    let backend = backend.ok_or(ConnectError::TlsRequired)?;
    let tls = |connector| with_tls(backend, config, connector, peer, alpn);
    Ok(match &config.proxy_url {
        None => secured_connector(tls)?,
        Some(proxy) => tls(proxied(proxy)?)?,
    })
}

#[cfg(test)]
mod tests {
    use crate::client::ConfigExt;
    use crate::config::KubeconfigError;
    use crate::{Client, Config, Error};

    /// A `Uri` may have such ports. A connection would go to the default port, and the token on it.
    #[tokio::test]
    async fn a_config_made_by_hand_with_a_port_that_is_no_number_is_refused() {
        for url in ["https://h:180990", "http://127.0.0.1:80x", "ftp://h", "/path"] {
            let mut config = Config::new(url.parse().unwrap());
            config.auth_info.token = Some("t".to_owned().into());
            let err = config.auth_layer().unwrap_err();
            assert!(
                matches!(err, Error::InferKubeconfig(KubeconfigError::ParseClusterUrl(_))),
                "{url}: {err}"
            );
            let err = Client::try_from(config).unwrap_err();
            assert!(
                matches!(err, Error::InferKubeconfig(KubeconfigError::ParseClusterUrl(_))),
                "{url}: {err}"
            );
        }
        for url in ["http://p:180990", "https://p:80x", "socks5://p:99999"] {
            let mut config = Config::new("https://h".parse().unwrap());
            config.proxy_url = Some(url.parse().unwrap());
            let err = Client::try_from(config).unwrap_err();
            assert!(matches!(err, Error::InferKubeconfig(KubeconfigError::ParseProxyUrl(_))), "{url}: {err}");
        }
    }
}
