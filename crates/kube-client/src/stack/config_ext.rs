//! The layers and connectors of a configuration, for custom stacks.

#[cfg(feature = "openssl-tls")]
use http::Uri;
#[cfg(feature = "openssl-tls")]
use hyper_util::client::legacy::connect::Connection;
#[cfg(any(feature = "rustls-tls", feature = "openssl-tls"))]
use hyper_util::client::legacy::connect::HttpConnector;
#[cfg(feature = "openssl-tls")]
use tower_service::Service;

use crate::auth::Credential;
use crate::config::{Config, KubeconfigError, Schemes, check_url};
use crate::error::Error;
use crate::layer::{AuthLayer, BaseUriLayer, DeadlineLayer, ExtraHeadersLayer, TraceLayer, WarningLayer};
#[cfg(any(feature = "rustls-tls", feature = "openssl-tls"))]
use crate::tls;
#[cfg(any(feature = "rustls-tls", feature = "openssl-tls"))]
use crate::transport::plain_tcp_connector;

/// The layers and connectors that a [`Config`] describes, to build a custom stack.
///
/// ```
/// use http::{Request, Response};
/// use kube_client::client::{Body, ClientBuilder, ConfigExt};
/// use kube_client::{Client, Config};
/// use tower::ServiceBuilder;
///
/// let config = Config::new("http://localhost:8080".parse().unwrap());
/// let service = ServiceBuilder::new()
///     .layer(config.base_uri_layer())
///     .option_layer(config.auth_layer().unwrap())
///     .service_fn(|_: Request<Body>| async { Ok::<_, tower::BoxError>(Response::new(Body::empty())) });
/// let client: Client = ClientBuilder::new(service, "default").build();
/// ```
pub trait ConfigExt: sealed::Sealed {
    /// Prepends the cluster's URL to the path of each request.
    fn base_uri_layer(&self) -> BaseUriLayer;

    /// Adds the `Authorization` header. `None` if the user has no such credentials.
    ///
    /// The first of these that is set applies: user and password in the cluster's URL, token file, token, user name and password, exec
    /// plugin. The error of the inner service must be `tower::BoxError`, since refreshing a credential can fail as well.
    ///
    /// # Errors
    /// [`Error::Auth`] if the credentials are not valid, [`Error::InferKubeconfig`] if the cluster's URL is not.
    fn auth_layer(&self) -> crate::Result<Option<AuthLayer>>;

    /// Adds the configuration's headers and those of impersonation.
    ///
    /// # Errors
    /// [`Error::HttpError`] if a name or value is not valid in a header.
    fn extra_headers_layer(&self) -> crate::Result<ExtraHeadersLayer>;

    /// Opens a span for each request.
    fn trace_layer(&self) -> TraceLayer;

    /// Passes the warnings of responses to `warning_handler`.
    fn warning_layer(&self) -> WarningLayer;

    /// Limits the time until the response by `response_timeout`.
    fn deadline_layer(&self) -> DeadlineLayer;

    /// A connector for https (and http) over TCP, for HTTP/1.1.
    ///
    /// For HTTP/2, pass [`rustls_client_config`](ConfigExt::rustls_client_config) to `hyper_rustls::HttpsConnectorBuilder`, with the
    /// features `http2` of `hyper-rustls` and `hyper-util`. Clients without a custom stack use HTTP/2 where the server offers it.
    ///
    /// It ignores the proxy of the configuration: to use one, pass a connector through it to
    /// [`rustls_https_connector_with_connector`](ConfigExt::rustls_https_connector_with_connector).
    ///
    /// # Errors
    /// [`Error::RustlsTls`] or [`Error::InferKubeconfig`] if certificates or keys cannot be used, [`Error::Service`] if there is no
    /// cryptography provider: neither enabled by a feature nor installed in the process.
    #[cfg(feature = "rustls-tls")]
    fn rustls_https_connector(&self) -> crate::Result<hyper_rustls::HttpsConnector<HttpConnector>>;

    /// The same over another connector.
    ///
    /// # Errors
    /// As [`ConfigExt::rustls_https_connector`].
    #[cfg(feature = "rustls-tls")]
    fn rustls_https_connector_with_connector<H>(
        &self,
        connector: H,
    ) -> crate::Result<hyper_rustls::HttpsConnector<H>>;

    /// The settings of rustls: CA certificates and client certificate. Their files are read again when they change. `tls_server_name` is
    /// not included: pass it to `with_server_name_resolver` of the connector's builder.
    ///
    /// The certificate of an exec plugin is presented too, once [`ConfigExt::auth_layer`] in the same stack has run the plugin: it does so
    /// before the first connection.
    ///
    /// # Errors
    /// As [`ConfigExt::rustls_https_connector`].
    #[cfg(feature = "rustls-tls")]
    fn rustls_client_config(&self) -> crate::Result<rustls::ClientConfig>;

    /// A connector for https (and http) over TCP by OpenSSL, for HTTP/1.1. Certificate files are read again when they change.
    ///
    /// It ignores the proxy, as [`ConfigExt::rustls_https_connector`] does. It resumes TLS sessions, and a resumed session keeps its client
    /// certificate and does not verify the server's again: when either changes, create another connector, as the default stack does.
    ///
    /// # Errors
    /// [`Error::OpensslTls`] or [`Error::InferKubeconfig`] if certificates or keys cannot be used.
    #[cfg(feature = "openssl-tls")]
    fn openssl_https_connector(
        &self,
    ) -> crate::Result<hyper_openssl::client::legacy::HttpsConnector<HttpConnector>>;

    /// The same over another connector.
    ///
    /// # Errors
    /// As [`ConfigExt::openssl_https_connector`].
    #[cfg(feature = "openssl-tls")]
    fn openssl_https_connector_with_connector<H>(
        &self,
        connector: H,
    ) -> crate::Result<hyper_openssl::client::legacy::HttpsConnector<H>>
    where
        H: Service<Uri> + Send,
        H::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
        H::Future: Send + 'static,
        H::Response: hyper::rt::Read + hyper::rt::Write + Connection + Unpin;

    /// The settings of OpenSSL: CA certificates and client certificate as they are now, and HTTP/1.1 in ALPN (for HTTP/2, set
    /// `alpn_protos`). `tls_server_name` is not included.
    ///
    /// # Errors
    /// As [`ConfigExt::openssl_https_connector`].
    #[cfg(feature = "openssl-tls")]
    fn openssl_ssl_connector_builder(&self) -> crate::Result<openssl::ssl::SslConnectorBuilder>;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for crate::config::Config {}
}

impl ConfigExt for Config {
    fn base_uri_layer(&self) -> BaseUriLayer {
        BaseUriLayer::new(self.cluster_url.clone())
    }

    fn auth_layer(&self) -> crate::Result<Option<AuthLayer>> {
        // A connector of the program's own would send the credentials to the default port.
        check_url(&self.cluster_url, Schemes::Http)
            .map_err(|err| Error::InferKubeconfig(KubeconfigError::ParseClusterUrl(err)))?;
        let credential = Credential::from_config(self).map_err(Error::Auth)?;
        Ok(credential.map(AuthLayer::new))
    }

    fn extra_headers_layer(&self) -> crate::Result<ExtraHeadersLayer> {
        ExtraHeadersLayer::of(self).map_err(Error::HttpError)
    }

    fn trace_layer(&self) -> TraceLayer {
        TraceLayer::to(self.cluster_url.clone())
    }

    fn warning_layer(&self) -> WarningLayer {
        WarningLayer::new(self.warning_handler.clone())
    }

    fn deadline_layer(&self) -> DeadlineLayer {
        DeadlineLayer::new(self.response_timeout)
    }

    #[cfg(feature = "rustls-tls")]
    fn rustls_https_connector(&self) -> crate::Result<hyper_rustls::HttpsConnector<HttpConnector>> {
        self.rustls_https_connector_with_connector(plain_tcp_connector())
    }

    #[cfg(feature = "rustls-tls")]
    fn rustls_https_connector_with_connector<H>(
        &self,
        connector: H,
    ) -> crate::Result<hyper_rustls::HttpsConnector<H>> {
        let peer = server(self)?;
        let tls = rustls_settings(self, &peer)?;
        let connector = tls::rustls_tls::https_connector(self, tls, connector, &peer, tls::Alpn::Http1);
        connector.map_err(Error::RustlsTls)
    }

    #[cfg(feature = "rustls-tls")]
    fn rustls_client_config(&self) -> crate::Result<rustls::ClientConfig> {
        rustls_settings(self, &server(self)?)
    }

    #[cfg(feature = "openssl-tls")]
    fn openssl_https_connector(
        &self,
    ) -> crate::Result<hyper_openssl::client::legacy::HttpsConnector<HttpConnector>> {
        self.openssl_https_connector_with_connector(plain_tcp_connector())
    }

    #[cfg(feature = "openssl-tls")]
    fn openssl_https_connector_with_connector<H>(
        &self,
        connector: H,
    ) -> crate::Result<hyper_openssl::client::legacy::HttpsConnector<H>>
    where
        H: Service<Uri> + Send,
        H::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
        H::Future: Send + 'static,
        H::Response: hyper::rt::Read + hyper::rt::Write + Connection + Unpin,
    {
        Ok(tls::openssl_tls::https_connector(self, connector, &server(self)?, tls::Alpn::Http1)?)
    }

    #[cfg(feature = "openssl-tls")]
    fn openssl_ssl_connector_builder(&self) -> crate::Result<openssl::ssl::SslConnectorBuilder> {
        Ok(tls::openssl_tls::ssl_connector_builder(self, &server(self)?)?)
    }
}

#[cfg(feature = "rustls-tls")]
fn rustls_settings(config: &Config, peer: &tls::Peer) -> crate::Result<rustls::ClientConfig> {
    let provider = tls::rustls_tls::crypto_provider().map_err(tls::TlsError::from)?;
    Ok(tls::rustls_tls::client_config(provider, config, peer)?)
}

/// The server of `config`, with the client certificate of its exec plugin.
#[cfg(any(feature = "rustls-tls", feature = "openssl-tls"))]
fn server(config: &Config) -> crate::Result<tls::Peer> {
    let credential = Credential::from_config(config).map_err(Error::Auth)?;
    Ok(tls::Peer::Server { identity_provider: credential.as_ref().and_then(Credential::identity_provider) })
}
