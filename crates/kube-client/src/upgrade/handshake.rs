//! The two ends of the handshake: what to ask, and whether the answer fits.

use http::header::{
    CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL, SEC_WEBSOCKET_VERSION,
    UPGRADE,
};
use http::{HeaderMap, HeaderValue, StatusCode};
use tokio_tungstenite::tungstenite::handshake::{client::generate_key, derive_accept_key};

use super::UpgradeConnectionError;

/// In which a channel can be closed while the others go on.
const V5: &str = "v5.channel.k8s.io";

/// The protocols that are offered, the best one first.
const OFFERED: &str = "v5.channel.k8s.io, v4.channel.k8s.io";

/// What was asked, to be held against the answer.
#[derive(Debug)]
pub(crate) struct Handshake {
    key: String,
    offered: String,
}

/// What the two sides agreed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Agreed {
    pub(super) closes_streams: bool,
}

impl Handshake {
    /// Adds the headers of the handshake to a request. Protocols that it already offers are kept.
    pub(crate) fn ask(headers: &mut HeaderMap) -> Self {
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

    /// Whether the server agrees, and to what.
    pub(crate) fn check(
        &self,
        code: StatusCode,
        headers: &HeaderMap,
    ) -> Result<Agreed, UpgradeConnectionError> {
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
        let chosen = text(SEC_WEBSOCKET_PROTOCOL);
        if !has_token(&self.offered, chosen) {
            return Err(UpgradeConnectionError::SecWebSocketProtocolMismatch);
        }
        Ok(Agreed { closes_streams: chosen == V5 })
    }
}

/// Whether a header's list has this word.
fn has_token(list: &str, word: &str) -> bool {
    list.split(',').any(|token| token.trim().eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(handshake: &Handshake, protocol: &'static str) -> HeaderMap {
        let accept = derive_accept_key(handshake.key.as_bytes());
        HeaderMap::from_iter([
            (UPGRADE, HeaderValue::from_static("WebSocket")),
            (CONNECTION, HeaderValue::from_static("keep-alive, Upgrade")),
            (SEC_WEBSOCKET_ACCEPT, HeaderValue::from_str(&accept).unwrap()),
            (SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(protocol)),
        ])
    }

    const SWITCHED: StatusCode = StatusCode::SWITCHING_PROTOCOLS;

    #[test]
    fn both_protocols_are_understood() {
        let mut asked = HeaderMap::new();
        let handshake = Handshake::ask(&mut asked);
        assert_eq!(asked[SEC_WEBSOCKET_PROTOCOL], OFFERED);
        for (protocol, closes_streams) in [(V5, true), ("v4.channel.k8s.io", false)] {
            let agreed = handshake.check(SWITCHED, &answer(&handshake, protocol)).unwrap();
            assert_eq!(agreed, Agreed { closes_streams });
        }
        let mut own = HeaderMap::from_iter([(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static("mine"))]);
        let handshake = Handshake::ask(&mut own);
        assert!(handshake.check(SWITCHED, &answer(&handshake, "mine")).is_ok());
    }

    #[test]
    fn an_answer_that_does_not_fit_is_refused() {
        use UpgradeConnectionError as E;
        let handshake = Handshake::ask(&mut HeaderMap::new());
        let without = |name| {
            let mut headers = answer(&handshake, V5);
            headers.remove(name);
            handshake.check(SWITCHED, &headers).unwrap_err()
        };
        assert!(matches!(without(UPGRADE), E::MissingUpgradeWebSocketHeader));
        assert!(matches!(without(CONNECTION), E::MissingConnectionUpgradeHeader));
        assert!(matches!(without(SEC_WEBSOCKET_ACCEPT), E::SecWebSocketAcceptKeyMismatch));
        assert!(matches!(without(SEC_WEBSOCKET_PROTOCOL), E::SecWebSocketProtocolMismatch));
        let other = handshake.check(SWITCHED, &answer(&handshake, "v1.channel.k8s.io")).unwrap_err();
        assert!(matches!(other, E::SecWebSocketProtocolMismatch));
        let ok = handshake.check(StatusCode::OK, &answer(&handshake, V5)).unwrap_err();
        assert!(matches!(ok, E::ProtocolSwitch(StatusCode::OK)));
    }
}
