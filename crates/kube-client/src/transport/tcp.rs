//! TCP connections whose death is noticed by the kernel.

use std::time::Duration;

use hyper_util::client::legacy::connect::HttpConnector;

/// A connector for TCP under http and https alike.
///
/// A peer that vanished is noticed 45 s after its last sign of life: by probes on a silent connection, and by the user timeout
/// (on Linux) where something was sent and stays unanswered. For HTTP/1.1 nothing else would notice.
pub(crate) fn tcp_connector() -> HttpConnector {
    let mut connector = HttpConnector::new();
    connector.enforce_http(false);
    connector.set_nodelay(true);
    connector.set_keepalive(Some(Duration::from_secs(30)));
    connector.set_keepalive_interval(Some(Duration::from_secs(5)));
    connector.set_keepalive_retries(Some(3));
    #[cfg(any(target_os = "android", target_os = "fuchsia", target_os = "linux"))]
    connector.set_tcp_user_timeout(Some(Duration::from_secs(45)));
    connector
}
