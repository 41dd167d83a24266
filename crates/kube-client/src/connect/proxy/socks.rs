//! SOCKS5 proxies. They resolve the name of the server.

#[cfg(not(feature = "socks5"))]
pub(super) use disabled::through;
#[cfg(feature = "socks5")]
pub(super) use enabled::through;

#[cfg(feature = "socks5")]
mod enabled {
    use http::Uri;
    use hyper_util::client::legacy::connect::proxy::SocksV5;

    use crate::config::credentials_of;
    use crate::connect::ConnectError;
    use crate::connect::proxy::named::{named, with_port};
    use crate::transport::{AnyConnector, tcp_connector};

    /// The port that RFC 1928 names.
    const PORT: u16 = 1080;

    pub(in crate::connect::proxy) fn through(
        proxy: &Uri,
        proxy_url: Uri,
    ) -> Result<AnyConnector, ConnectError> {
        let mut socks = SocksV5::new(with_port(proxy_url.clone(), PORT), tcp_connector());
        if let Some((user, password)) = credentials_of(proxy) {
            socks = socks.with_auth(user, password);
        }
        Ok(named(proxy_url, socks))
    }
}

#[cfg(not(feature = "socks5"))]
mod disabled {
    use http::Uri;

    use crate::connect::ConnectError;
    use crate::transport::AnyConnector;

    pub(in crate::connect::proxy) fn through(_: &Uri, proxy_url: Uri) -> Result<AnyConnector, ConnectError> {
        Err(ConnectError::ProxyDisabled { proxy_url, protocol_feature: "socks5" })
    }
}
