//! The layers of a configuration, for stacks of one's own.

#[cfg(feature = "rustls-tls")]
use hyper_util::client::legacy::connect::HttpConnector;

use crate::auth::Credential;
use crate::config::Config;
use crate::error::Error;
use crate::layer::{AuthLayer, BaseUriLayer, DeadlineLayer, ExtraHeadersLayer, TraceLayer};
#[cfg(feature = "rustls-tls")]
use crate::tls;
#[cfg(feature = "rustls-tls")]
use crate::transport::tcp_connector;

/// What a [`Config`] stands for, as layers and connectors: for those who put together a stack of their own.
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
    /// Puts the cluster's URL before the path of each request.
    fn base_uri_layer(&self) -> BaseUriLayer;

    /// Adds the `Authorization` header. `None` if the user has no credentials of that kind.
    ///
    /// Of several, the first of these counts: token file, token, user name and password, credential program. The service under
    /// this layer has to fail with `tower::BoxError`, as renewing a credential can fail too.
    ///
    /// # Errors
    /// [`Error::Auth`] if the credentials' settings cannot be used.
    fn auth_layer(&self) -> crate::Result<Option<AuthLayer>>;

    /// Adds the configuration's own headers and those that say whom to act as.
    ///
    /// # Errors
    /// [`Error::HttpError`] if a name cannot stand in a header.
    fn extra_headers_layer(&self) -> crate::Result<ExtraHeadersLayer>;

    /// Opens a span for each request.
    fn trace_layer(&self) -> TraceLayer;

    /// Limits how long an answer may stay away, by `response_timeout`.
    fn deadline_layer(&self) -> DeadlineLayer;

    /// A connector for https (and http) over TCP, offering HTTP/2 and HTTP/1.1.
    ///
    /// # Errors
    /// [`Error::RustlsTls`] or [`Error::InferKubeconfig`] if certificates or keys cannot be used.
    #[cfg(feature = "rustls-tls")]
    fn rustls_https_connector(&self) -> crate::Result<hyper_rustls::HttpsConnector<HttpConnector>>;

    /// The same over a connector of one's own.
    ///
    /// # Errors
    /// As [`ConfigExt::rustls_https_connector`].
    #[cfg(feature = "rustls-tls")]
    fn rustls_https_connector_with_connector<H>(
        &self,
        connector: H,
    ) -> crate::Result<hyper_rustls::HttpsConnector<H>>;

    /// The settings of rustls: whom to trust, and the client certificate. Files are read again when they change.
    ///
    /// A client certificate that a credential program gives is not among them: only the usual stack has that.
    ///
    /// # Errors
    /// As [`ConfigExt::rustls_https_connector`].
    #[cfg(feature = "rustls-tls")]
    fn rustls_client_config(&self) -> crate::Result<rustls::ClientConfig>;
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
        let credential = Credential::plan(&self.auth_info).map_err(Error::Auth)?;
        Ok(credential.map(AuthLayer::new))
    }

    fn extra_headers_layer(&self) -> crate::Result<ExtraHeadersLayer> {
        ExtraHeadersLayer::of(self).map_err(Error::HttpError)
    }

    fn trace_layer(&self) -> TraceLayer {
        TraceLayer::to(self.cluster_url.clone())
    }

    fn deadline_layer(&self) -> DeadlineLayer {
        DeadlineLayer::new(self.response_timeout)
    }

    #[cfg(feature = "rustls-tls")]
    fn rustls_https_connector(&self) -> crate::Result<hyper_rustls::HttpsConnector<HttpConnector>> {
        self.rustls_https_connector_with_connector(tcp_connector())
    }

    #[cfg(feature = "rustls-tls")]
    fn rustls_https_connector_with_connector<H>(
        &self,
        connector: H,
    ) -> crate::Result<hyper_rustls::HttpsConnector<H>> {
        let tls = self.rustls_client_config()?;
        tls::https_connector(self, tls, connector, tls::Offer::Any).map_err(Error::RustlsTls)
    }

    #[cfg(feature = "rustls-tls")]
    fn rustls_client_config(&self) -> crate::Result<rustls::ClientConfig> {
        rustls_client_config(self, None)
    }
}

/// With the credential of a stack, whose program may give a client certificate too.
#[cfg(feature = "rustls-tls")]
pub(super) fn rustls_client_config(
    config: &Config,
    credential: Option<&Credential>,
) -> crate::Result<rustls::ClientConfig> {
    let identity = config.auth_info.load_client_identity()?;
    tls::client_config(config, identity.as_ref(), credential).map_err(Error::RustlsTls)
}
