//! The expiry of an ID token. The server verifies its signature.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use jiff::Timestamp;
use serde::Deserialize;

use super::errors::IdTokenError;

/// The `exp` of a JSON Web Token (RFC 7519).
pub(super) fn expiry(token: &str) -> Result<Timestamp, IdTokenError> {
    let mut parts = token.split('.');
    let (Some(_), Some(payload), Some(_), None) = (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return Err(IdTokenError::InvalidFormat);
    };
    let payload = URL_SAFE_NO_PAD.decode(payload.trim_end_matches('='))?;
    let claims: Claims = serde_json::from_slice(&payload)?;
    // Some issuers write fractions of a second.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a saturated value is not a valid time, which is an error"
    )]
    Ok(Timestamp::from_second(claims.exp as i64)?)
}

#[derive(Deserialize)]
struct Claims {
    exp: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(payload: &str) -> String {
        format!("e30.{}.c2ln", URL_SAFE_NO_PAD.encode(payload))
    }

    #[test]
    fn the_expiry_is_read_and_each_invalid_token_has_its_error() {
        assert_eq!(expiry(&token(r#"{"exp":1700000000}"#)).unwrap().as_second(), 1_700_000_000);
        assert_eq!(expiry(&token(r#"{"exp":1700000000.5}"#)).unwrap().as_second(), 1_700_000_000);
        assert!(matches!(expiry("a.b"), Err(IdTokenError::InvalidFormat)));
        assert!(matches!(expiry("a.b.c.d"), Err(IdTokenError::InvalidFormat)));
        assert!(matches!(expiry("a.%.c"), Err(IdTokenError::InvalidBase64(_))));
        assert!(matches!(expiry(&token("[]")), Err(IdTokenError::InvalidJson(_))));
        assert!(matches!(expiry(&token("{}")), Err(IdTokenError::InvalidJson(_))));
        assert!(matches!(
            expiry(&token(r#"{"exp":1e300}"#)),
            Err(IdTokenError::InvalidExpirationTimestamp(_))
        ));
    }
}
