//! Protocol negotiation by request headers.

use http::{
    HeaderMap, HeaderName, HeaderValue,
    header::{CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL, UPGRADE},
};
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

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
    Spdy,
    /// SPDY tunnelled through websocket messages.
    Tunnel,
}

/// Numbered channels; single channels cannot be closed.
pub(super) const V4: &str = "v4.channel.k8s.io";
/// [`V4`] with a channel that closes other channels.
pub(super) const V5: &str = "v5.channel.k8s.io";

/// Port forwarding over SPDY in a websocket, as `kubectl` does since 1.31.
const TUNNEL: &str = "SPDY/3.1+portforward.k8s.io";

pub(super) const COMMAND: Protocols = Protocols { websocket: &[V5, V4], spdy: &[V4] };
pub(super) const FORWARD: Protocols = Protocols { websocket: &[V4, TUNNEL], spdy: &["portforward.k8s.io"] };

const SPDY: &str = "SPDY/3.1";
const STREAM_PROTOCOL: HeaderName = HeaderName::from_static("x-stream-protocol-version");

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
            _ if upgrade.eq_ignore_ascii_case(SPDY) => self.spdy(headers),
            _ => Err(required()),
        }
    }

    fn spdy(self, headers: &HeaderMap) -> Result<Agreed, StatusError> {
        let protocol = choose(words(headers, &STREAM_PROTOCOL), self.spdy)?;
        let headers = vec![
            (CONNECTION, HeaderValue::from_static("Upgrade")),
            (UPGRADE, HeaderValue::from_static(SPDY)),
            (STREAM_PROTOCOL, HeaderValue::from_static(protocol)),
        ];
        Ok(Agreed { protocol, transport: Transport::Spdy, headers })
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
        let transport = if protocol == TUNNEL { Transport::Tunnel } else { Transport::WebSocket };
        Ok(Agreed { protocol, transport, headers })
    }
}

fn choose<'a>(
    offered: impl Iterator<Item = &'a str>,
    spoken: &[&'static str],
) -> Result<&'static str, StatusError> {
    let offered: Vec<&str> = offered.collect();
    let chosen = offered.iter().find_map(|offer| spoken.iter().find(|name| *name == offer));
    chosen.copied().ok_or_else(|| {
        let (offered, spoken) = (offered.join(", "), spoken.join(", "));
        StatusError::bad_request(format!(
            "unable to upgrade: none of the offered protocols [{offered}] is among [{spoken}]"
        ))
    })
}

/// The elements of a comma-separated header, over all its lines.
fn words<'a>(headers: &'a HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'a str> {
    let lines = headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
    lines.flat_map(|line| line.split(',')).map(str::trim).filter(|word| !word.is_empty())
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
