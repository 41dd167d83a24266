//! TCP connections with keepalive by the kernel.

use std::future::ready;
use std::net::SocketAddr;
use std::time::Duration;
use std::{io, iter};

use http::Uri;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::dns::Name;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tower::{BoxError, Service, service_fn};

/// Connects to the host of `target`, an http or https URL, by this address, whose port is not used.
pub(super) async fn dial(target: Uri, address: SocketAddr) -> Result<TokioIo<TcpStream>, BoxError> {
    let resolved = service_fn(move |_: Name| ready(Ok::<_, io::Error>(iter::once(address))));
    with_keepalive(HttpConnector::new_with_resolver(resolved)).call(target).await.map_err(Into::into)
}

/// hyper-util's connector with its default type, for [`ConfigExt`](crate::client::ConfigExt). The addresses of one family share the time.
#[cfg(any(feature = "rustls-tls", feature = "openssl-tls"))]
pub(crate) fn plain_tcp_connector() -> HttpConnector {
    let mut connector = with_keepalive(HttpConnector::new());
    connector.set_connect_timeout(Some(Duration::from_secs(30)));
    connector
}

/// Makes the kernel detect dead peers.
///
/// A vanished peer is detected 45 s after its last packet: by keepalive probes on an idle connection, and by the user timeout
/// (Linux) when sent data is not acknowledged. HTTP/1.1 has no other detection.
fn with_keepalive<R>(mut connector: HttpConnector<R>) -> HttpConnector<R> {
    connector.enforce_http(false);
    connector.set_nodelay(true);
    connector.set_keepalive(Some(Duration::from_secs(30)));
    connector.set_keepalive_interval(Some(Duration::from_secs(5)));
    connector.set_keepalive_retries(Some(3));
    #[cfg(any(target_os = "android", target_os = "fuchsia", target_os = "linux"))]
    connector.set_tcp_user_timeout(Some(Duration::from_secs(45)));
    connector
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use socket2::SockRef;

    use super::*;

    #[tokio::test]
    async fn the_kernel_detects_a_dead_peer_within_45_seconds() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let url = format!("http://{address}");
        let stream = dial(url.parse().unwrap(), address).await.unwrap().into_inner();
        let socket = SockRef::from(&stream);
        assert!(socket.keepalive().unwrap() && socket.tcp_nodelay().unwrap());
        let silence = socket.tcp_keepalive_time().unwrap()
            + socket.tcp_keepalive_interval().unwrap() * socket.tcp_keepalive_retries().unwrap();
        assert_eq!(silence, Duration::from_secs(45));
        assert_eq!(socket.tcp_user_timeout().unwrap(), Some(Duration::from_secs(45)));
    }
}
