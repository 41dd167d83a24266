//! Requests with the name of what they are for.

use http::Request;

use crate::error::Error;

/// A request as kube-core builds it.
pub(crate) type Built = Result<Request<Vec<u8>>, kube_core::request::Error>;

/// Names a request after the method that makes it, for its span.
pub(crate) fn named(verb: &'static str, request: Built) -> Result<Request<Vec<u8>>, Error> {
    let mut request = request.map_err(Error::BuildRequest)?;
    request.extensions_mut().insert(verb);
    Ok(request)
}
