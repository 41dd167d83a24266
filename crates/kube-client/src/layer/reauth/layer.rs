use tower_layer::Layer;

use super::Reauth;

/// Stands around [`AuthLayer`](crate::layer::AuthLayer): repeats a request once where that one says that it may help.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReauthLayer;

impl<S> Layer<S> for ReauthLayer {
    type Service = Reauth<S>;

    fn layer(&self, inner: S) -> Reauth<S> {
        Reauth { inner }
    }
}
