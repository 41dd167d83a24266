use tower_layer::Layer;

use super::Reauth;

/// Stands around [`AuthLayer`](crate::client::middleware::AuthLayer): repeats a request once where that one says that it may help,
/// which is when the server answered 401 to a credential that has been renewed since.
///
/// Requests whose body is a stream are not repeated; the 401 is then the answer.
///
/// ```
/// use http::{Request, Response};
/// use kube_client::client::{Body, ConfigExt, middleware::ReauthLayer};
/// use tower::{BoxError, ServiceBuilder};
///
/// let config = kube_client::Config::new("http://localhost:8080".parse().unwrap());
/// let service = ServiceBuilder::new()
///     .layer(ReauthLayer)
///     .option_layer(config.auth_layer().unwrap())
///     .layer(config.base_uri_layer())
///     .service_fn(|_: Request<Body>| async { Ok::<_, BoxError>(Response::new(Body::empty())) });
/// let client = kube_client::Client::new(service, "default");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ReauthLayer;

impl<S> Layer<S> for ReauthLayer {
    type Service = Reauth<S>;

    fn layer(&self, inner: S) -> Self::Service {
        Reauth { inner }
    }
}
