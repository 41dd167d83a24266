use std::sync::Arc;

use http::Uri;
use tower_layer::Layer;

use super::BaseUri;
use crate::config::without_credentials;

/// Puts a base URL before the path of each request.
#[derive(Clone, Debug)]
pub struct BaseUriLayer {
    base_uri: Arc<Uri>,
}

impl BaseUriLayer {
    /// A layer for the server at `base_uri`. A path in it stands before the path of each request; a user and password in it are left
    /// out, see [`ConfigExt::auth_layer`](crate::client::ConfigExt::auth_layer).
    pub fn new(base_uri: Uri) -> Self {
        Self { base_uri: Arc::new(without_credentials(&base_uri)) }
    }
}

impl<S> Layer<S> for BaseUriLayer {
    type Service = BaseUri<S>;

    fn layer(&self, inner: S) -> Self::Service {
        BaseUri::new(Arc::clone(&self.base_uri), inner)
    }
}
