//! Protocol negotiation by request headers.

use http::{
    HeaderMap, HeaderName, HeaderValue,
    header::{CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL, UPGRADE},
};
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use super::{
    channel::{V4, V5},
    offer::{choose, words},
    spdy,
};
use crate::status_error::StatusError;

/// The protocols that a subresource supports.
#[derive(Clone, Copy, Debug)]
pub(super) struct Protocols {
    websocket: &'static [&'static str],
    spdy: &'static [&'static str],
}

/// The transport of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Transport {
    WebSocket,
    Spdy(spdy::Carrier),
}

pub(super) const COMMAND: Protocols = Protocols { websocket: &[V5, V4], spdy: &[V4] };
pub(super) const FORWARD: Protocols = Protocols { websocket: spdy::FORWARD, spdy: &["portforward.k8s.io"] };

/// The negotiated protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Agreed {
    pub(super) protocol: &'static str,
    pub(super) transport: Transport,
    /// Headers of the response.
    pub(super) headers: Vec<(HeaderName, HeaderValue)>,
}

impl Protocols {
    /// Selects the first of the client's protocols that is supported.
    pub(super) fn agree(self, headers: &HeaderMap) -> Result<Agreed, StatusError> {
        let upgrade = words(headers, &UPGRADE).next().unwrap_or_default();
        if !words(headers, &CONNECTION).any(|word| word.eq_ignore_ascii_case("upgrade")) {
            return Err(required());
        }
        match upgrade {
            _ if upgrade.eq_ignore_ascii_case("websocket") => self.websocket(headers),
            _ => {
                let (carrier, protocol, headers) =
                    spdy::agree(upgrade, self.spdy, headers).unwrap_or_else(|| Err(required()))?;
                Ok(Agreed { protocol, transport: Transport::Spdy(carrier), headers })
            }
        }
    }

    fn websocket(self, headers: &HeaderMap) -> Result<Agreed, StatusError> {
        let key = headers.get(SEC_WEBSOCKET_KEY).ok_or_else(required)?;
        let protocol = choose(words(headers, &SEC_WEBSOCKET_PROTOCOL), self.websocket)?;
        let accept = HeaderValue::from_str(&derive_accept_key(key.as_bytes()));
        let accept = accept.map_err(|_| required())?;
        let headers = vec![
            (CONNECTION, HeaderValue::from_static("Upgrade")),
            (UPGRADE, HeaderValue::from_static("websocket")),
            (SEC_WEBSOCKET_ACCEPT, accept),
            (SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(protocol)),
        ];
        let transport = spdy::carrier(protocol).map_or(Transport::WebSocket, Transport::Spdy);
        Ok(Agreed { protocol, transport, headers })
    }
}

fn required() -> StatusError {
    StatusError::bad_request("Upgrade request required")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(list: &[(&'static str, &'static str)]) -> HeaderMap {
        list.iter().map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value))).collect()
    }

    fn websocket(protocols: &'static str) -> HeaderMap {
        headers(&[
            ("connection", "keep-alive, Upgrade"),
            ("upgrade", "WebSocket"),
            ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
            ("sec-websocket-protocol", protocols),
        ])
    }

    #[test]
    fn the_first_common_protocol_is_selected() {
        let agreed = COMMAND.agree(&websocket("v9, v5.channel.k8s.io, v4.channel.k8s.io")).unwrap();
        assert_eq!(agreed.protocol, V5);
        // The example of RFC 6455, section 1.3.
        let accept = agreed.headers.iter().find(|(name, _)| *name == SEC_WEBSOCKET_ACCEPT).unwrap();
        assert_eq!(accept.1, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
        let agreed = FORWARD.agree(&websocket("v5.channel.k8s.io, v4.channel.k8s.io")).unwrap();
        assert_eq!(agreed.protocol, V4);
        let refused = COMMAND.agree(&websocket("v9, v8")).unwrap_err();
        assert!(refused.message.contains("[v9, v8]"), "{}", refused.message);
    }

    #[test]
    fn requests_without_upgrade_are_refused() {
        for headers in [HeaderMap::new(), headers(&[("connection", "Upgrade"), ("upgrade", "h2c")])] {
            assert_eq!(COMMAND.agree(&headers).unwrap_err().message, "Upgrade request required");
        }
    }
}
