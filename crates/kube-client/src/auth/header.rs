//! Values of the `Authorization` header.

use base64::{Engine, engine::general_purpose::STANDARD};
use http::HeaderValue;

use super::AuthError;

/// `Bearer TOKEN`, marked as sensitive.
pub(super) fn bearer(token: &str) -> Result<HeaderValue, AuthError> {
    sensitive(&format!("Bearer {}", token.trim())).map_err(AuthError::InvalidBearerToken)
}

/// `Basic ...`, marked as sensitive.
pub(super) fn basic(user: &str, password: &str) -> Result<HeaderValue, AuthError> {
    let encoded = STANDARD.encode(format!("{user}:{password}"));
    sensitive(&format!("Basic {encoded}")).map_err(AuthError::InvalidBasicAuth)
}

fn sensitive(text: &str) -> Result<HeaderValue, http::header::InvalidHeaderValue> {
    let mut value = HeaderValue::from_str(text)?;
    value.set_sensitive(true);
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_sensitive_and_invalid_ones_are_errors() {
        let value = bearer(" abc\n").unwrap();
        assert_eq!(value, "Bearer abc");
        assert!(!format!("{value:?}").contains("abc"));
        assert_eq!(basic("jane", "pass").unwrap(), "Basic amFuZTpwYXNz");
        assert!(matches!(bearer("a\nb"), Err(AuthError::InvalidBearerToken(_))));
    }
}
