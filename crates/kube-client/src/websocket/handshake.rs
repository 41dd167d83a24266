//! The websocket handshake (RFC 6455, 4): the headers of the request, and the check of the response.

use http::header::{
    CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL, SEC_WEBSOCKET_VERSION,
    UPGRADE,
};
use http::{HeaderMap, HeaderValue, StatusCode};
use tokio_tungstenite::tungstenite::handshake::{client::generate_key, derive_accept_key};

use super::UpgradeConnectionError;

/// The version that can close a single channel.
const V5: &str = "v5.channel.k8s.io";

/// The offered subprotocols, the preferred one first.
const OFFERED: &str = "v5.channel.k8s.io, v4.channel.k8s.io";

/// What the request offered, to check the response.
#[derive(Debug)]
pub(crate) struct Handshake {
    key: String,
    offered: String,
}

/// The result of the handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Negotiated {
    pub(super) closes_streams: bool,
}

impl Handshake {
    /// Adds the headers of the handshake to a request. Subprotocols that the request already offers are kept.
    pub(crate) fn start(headers: &mut HeaderMap) -> Self {
        let key = generate_key();
        headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
        headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
        headers.insert(SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
        if let Ok(value) = HeaderValue::from_str(&key) {
            headers.insert(SEC_WEBSOCKET_KEY, value);
        }
        let offered = headers.entry(SEC_WEBSOCKET_PROTOCOL).or_insert(HeaderValue::from_static(OFFERED));
        let offered = offered.to_str().unwrap_or_default().to_owned();
        Self { key, offered }
    }

    /// Checks the response.
    pub(crate) fn check(
        &self,
        code: StatusCode,
        headers: &HeaderMap,
    ) -> Result<Negotiated, UpgradeConnectionError> {
        if code != StatusCode::SWITCHING_PROTOCOLS {
            return Err(UpgradeConnectionError::ProtocolSwitch(code));
        }
        let text = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok()).unwrap_or("");
        if !has_token(text(UPGRADE), "websocket") {
            return Err(UpgradeConnectionError::MissingUpgradeWebSocketHeader);
        }
        if !has_token(text(CONNECTION), "upgrade") {
            return Err(UpgradeConnectionError::MissingConnectionUpgradeHeader);
        }
        if text(SEC_WEBSOCKET_ACCEPT) != derive_accept_key(self.key.as_bytes()) {
            return Err(UpgradeConnectionError::SecWebSocketAcceptKeyMismatch);
        }
        let selected = text(SEC_WEBSOCKET_PROTOCOL);
        if !has_token(&self.offered, selected) {
            return Err(UpgradeConnectionError::SecWebSocketProtocolMismatch);
        }
        Ok(Negotiated { closes_streams: selected == V5 })
    }
}

/// Whether a comma-separated header contains `expected`.
fn has_token(list: &str, expected: &str) -> bool {
    list.split(',').any(|token| token.trim().eq_ignore_ascii_case(expected))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(handshake: &Handshake, protocol: &'static str) -> HeaderMap {
        let accept = derive_accept_key(handshake.key.as_bytes());
        HeaderMap::from_iter([
            (UPGRADE, HeaderValue::from_static("WebSocket")),
            (CONNECTION, HeaderValue::from_static("keep-ping_interval, Upgrade")),
            (SEC_WEBSOCKET_ACCEPT, HeaderValue::from_str(&accept).unwrap()),
            (SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(protocol)),
        ])
    }

    const SWITCHED: StatusCode = StatusCode::SWITCHING_PROTOCOLS;

    #[test]
    fn both_channel_protocols_are_accepted() {
        let mut headers = HeaderMap::new();
        let handshake = Handshake::start(&mut headers);
        assert_eq!(headers[SEC_WEBSOCKET_PROTOCOL], OFFERED);
        for (protocol, closes_streams) in [(V5, true), ("v4.channel.k8s.io", false)] {
            let negotiated = handshake.check(SWITCHED, &response(&handshake, protocol)).unwrap();
            assert_eq!(negotiated, Negotiated { closes_streams });
        }
        let mut own = HeaderMap::from_iter([(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static("mine"))]);
        let handshake = Handshake::start(&mut own);
        assert!(handshake.check(SWITCHED, &response(&handshake, "mine")).is_ok());
    }

    #[test]
    fn an_invalid_response_is_an_error() {
        use UpgradeConnectionError as E;
        let handshake = Handshake::start(&mut HeaderMap::new());
        let without = |name| {
            let mut headers = response(&handshake, V5);
            headers.remove(name);
            handshake.check(SWITCHED, &headers).unwrap_err()
        };
        assert!(matches!(without(UPGRADE), E::MissingUpgradeWebSocketHeader));
        assert!(matches!(without(CONNECTION), E::MissingConnectionUpgradeHeader));
        assert!(matches!(without(SEC_WEBSOCKET_ACCEPT), E::SecWebSocketAcceptKeyMismatch));
        assert!(matches!(without(SEC_WEBSOCKET_PROTOCOL), E::SecWebSocketProtocolMismatch));
        let other = handshake.check(SWITCHED, &response(&handshake, "v1.channel.k8s.io")).unwrap_err();
        assert!(matches!(other, E::SecWebSocketProtocolMismatch));
        let ok = handshake.check(StatusCode::OK, &response(&handshake, V5)).unwrap_err();
        assert!(matches!(ok, E::ProtocolSwitch(StatusCode::OK)));
    }
}
