//! [`Outdated`]: a request failed with credentials that have been exchanged since it was sent.

use http::Response;
use thiserror::Error;
use tower::BoxError;

/// Tells that a request may succeed with the present credentials: an extension of a 401, or the error.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outdated;

#[derive(Debug, Error)]
#[error("{0}")]
struct OutdatedError(#[source] BoxError);

impl Outdated {
    /// Marks the outcome of a request.
    pub(crate) fn mark<B>(outcome: Result<Response<B>, BoxError>) -> Result<Response<B>, BoxError> {
        match outcome {
            Ok(mut response) => {
                response.extensions_mut().insert(Self);
                Ok(response)
            }
            Err(err) => Err(OutdatedError(err).into()),
        }
    }

    /// Whether it was marked.
    pub(super) fn is<B>(outcome: &Result<Response<B>, BoxError>) -> bool {
        match outcome {
            Ok(response) => response.extensions().get::<Self>().is_some(),
            Err(err) => err.is::<OutdatedError>(),
        }
    }
}
