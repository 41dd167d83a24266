//! Why a request got no response.

use thiserror::Error;
use tower::BoxError;

/// The server may have processed the request.
#[derive(Debug, Error)]
#[error("the connection to the server failed")]
pub(super) struct ConnectionFailed(#[source] pub(super) BoxError);
