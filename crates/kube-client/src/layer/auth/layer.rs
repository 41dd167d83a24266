use tower_layer::Layer;

use super::Auth;
use crate::auth::Credential;

/// Adds the `Authorization` header to requests that have none.
///
/// A credential that expires or changes is renewed when it is due, once for all requests that wait for it, and when the server
/// answers 401. The request that got that answer is not sent again by this layer.
#[derive(Clone, Debug)]
pub struct AuthLayer(Credential);

impl AuthLayer {
    pub(crate) fn new(credential: Credential) -> Self {
        Self(credential)
    }
}

impl<S> Layer<S> for AuthLayer {
    type Service = Auth<S>;

    fn layer(&self, inner: S) -> Self::Service {
        Auth::new(self.0.clone(), inner)
    }
}
