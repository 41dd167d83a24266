//! TCP connections whose death is noticed by the kernel.

use std::time::Duration;

use hyper_util::client::legacy::connect::HttpConnector;

use crate::measure::Resolver;

/// A connector for TCP under http and https alike, which measures how long it looks for addresses.
pub(crate) fn tcp_connector() -> HttpConnector<Resolver> {
    watchful(HttpConnector::new_with_resolver(Resolver::new()))
}

/// The same for stacks of one's own, of the type that everybody knows.
#[cfg(any(feature = "rustls-tls", feature = "openssl-tls"))]
pub(crate) fn plain_tcp_connector() -> HttpConnector {
    watchful(HttpConnector::new())
}

/// Has the kernel notice the death of connections.
///
/// A peer that vanished is noticed 45 s after its last sign of life: by probes on a silent connection, and by the user timeout
/// (on Linux) where something was sent and stays unanswered. For HTTP/1.1 nothing else would notice.
fn watchful<R>(mut connector: HttpConnector<R>) -> HttpConnector<R> {
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
    use tower_service::Service;

    use super::*;

    #[tokio::test]
    async fn the_kernel_is_told_to_notice_within_a_minute() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let stream = tcp_connector().call(url.parse().unwrap()).await.unwrap().into_inner();
        let socket = SockRef::from(&stream);
        assert!(socket.keepalive().unwrap() && socket.tcp_nodelay().unwrap());
        let silence = socket.tcp_keepalive_time().unwrap()
            + socket.tcp_keepalive_interval().unwrap() * socket.tcp_keepalive_retries().unwrap();
        assert_eq!(silence, Duration::from_secs(45));
        assert_eq!(socket.tcp_user_timeout().unwrap(), Some(Duration::from_secs(45)));
    }
}
