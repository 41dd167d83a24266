//! Each kind of proxy, with and without its feature.

use super::{backends, client, error_text};
use crate::config::Config;
use crate::error::Error;

fn through(server: &str, proxy: &str) -> Config {
    let mut config = Config::new(server.parse().unwrap());
    config.proxy_url = Some(proxy.parse().unwrap());
    config
}

#[test]
fn an_unusable_proxy_is_an_error_without_its_password() {
    for (scheme, enabled, feature) in [
        ("http", cfg!(feature = "http-proxy"), "http-proxy"),
        ("https", cfg!(feature = "http-proxy"), "http-proxy"),
        ("socks5", cfg!(feature = "socks5"), "socks5"),
        ("ftp", false, ""),
    ] {
        for (name, backend) in backends() {
            let config = through("https://127.0.0.1:1", &format!("{scheme}://me:hush@p:1"));
            match client(&config, backend) {
                Ok(_) => assert!(enabled, "{scheme}"),
                Err(err) => {
                    let text = format!("{} {err:?}", error_text(&err));
                    assert!(!text.contains("hush") && text.contains("p:1"), "{name}: {text}");
                    match err {
                        Error::ProxyProtocolDisabled { protocol_feature, .. } => {
                            assert!(!enabled && protocol_feature == feature, "{scheme}");
                        }
                        Error::ProxyProtocolUnsupported { .. } => assert_eq!(scheme, "ftp"),
                        other => panic!("{other:?}"),
                    }
                }
            }
        }
    }
}

#[cfg(all(feature = "http-proxy", feature = "socks5"))]
mod enabled {
    use std::net::SocketAddr;

    use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
    use tokio::net::TcpStream;
    use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
    use tokio_rustls::TlsAcceptor;

    use super::super::servers::{CertificateAuthority, Https, acceptor, listen, read_head};
    use super::super::{backends, client, client_certificate, error_text};
    use super::through;
    use crate::config::Config;

    /// An HTTP proxy that reports each request head. It requires `Basic me:p@ss` if `strict`.
    async fn http_proxy(tls: Option<TlsAcceptor>, strict: bool) -> (SocketAddr, UnboundedReceiver<String>) {
        let (received, receiver) = unbounded_channel();
        let address = listen(move |stream| {
            let (tls, received) = (tls.clone(), received.clone());
            async move {
                match tls {
                    Some(tls) => {
                        if let Ok(stream) = tls.accept(stream).await {
                            tunnel(stream, strict, received).await;
                        }
                    }
                    None => tunnel(stream, strict, received).await,
                }
            }
        })
        .await;
        (address, receiver)
    }

    async fn tunnel(
        mut stream: impl AsyncRead + AsyncWrite + Unpin,
        strict: bool,
        received: UnboundedSender<String>,
    ) {
        let Some(head) = read_head(&mut stream).await else { return };
        let target = head.split(' ').nth(1).unwrap().to_owned();
        // base64 of me:p@ss
        let known = head.to_ascii_lowercase().contains("proxy-authorization: basic bwu6cebzcw==");
        received.send(head).unwrap();
        if strict && !known {
            stream.write_all(b"HTTP/1.1 407 Who are you\r\n\r\n").await.unwrap();
            return;
        }
        let mut onward = TcpStream::connect(target).await.unwrap();
        stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
        let _ = tokio::io::copy_bidirectional(&mut stream, &mut onward).await;
    }

    /// A SOCKS5 proxy that reports each target. It requires `me`, `p@ss` if `strict`.
    async fn socks_proxy(strict: bool) -> (SocketAddr, UnboundedReceiver<String>) {
        let (received, receiver) = unbounded_channel();
        let address = listen(move |stream| socks(stream, strict, received.clone())).await;
        (address, receiver)
    }

    async fn socks(mut stream: TcpStream, strict: bool, received: UnboundedSender<String>) {
        let greeting = [stream.read_u8().await.unwrap(), stream.read_u8().await.unwrap()];
        assert_eq!(greeting[0], 5);
        let mut methods = vec![0; greeting[1].into()];
        stream.read_exact(&mut methods).await.unwrap();
        let method = if strict { 2 } else { 0 };
        if !methods.contains(&method) {
            stream.write_all(&[5, 0xFF]).await.unwrap();
            return;
        }
        stream.write_all(&[5, method]).await.unwrap();
        if strict {
            assert_eq!(stream.read_u8().await.unwrap(), 1);
            let mut credentials = Vec::new();
            for _ in 0..2 {
                let length = stream.read_u8().await.unwrap();
                let mut text = vec![0; length.into()];
                stream.read_exact(&mut text).await.unwrap();
                credentials.push(String::from_utf8(text).unwrap());
            }
            assert_eq!(credentials, ["me", "p@ss"]);
            stream.write_all(&[1, 0]).await.unwrap();
        }
        let mut request = [0; 4];
        stream.read_exact(&mut request).await.unwrap();
        assert_eq!(request, [5, 1, 0, 1], "CONNECT to an IPv4 address");
        let mut address = [0; 4];
        stream.read_exact(&mut address).await.unwrap();
        let target = SocketAddr::from((address, stream.read_u16().await.unwrap()));
        received.send(target.to_string()).unwrap();
        let mut onward = TcpStream::connect(target).await.unwrap();
        stream.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0]).await.unwrap();
        let _ = tokio::io::copy_bidirectional(&mut stream, &mut onward).await;
    }

    async fn https() -> (Https, CertificateAuthority) {
        let ours = CertificateAuthority::new("ours");
        (Https::start(acceptor(&ours.sign(&["127.0.0.1"]), &ours)).await, ours)
    }

    fn trusting(ours: &CertificateAuthority, server: &Https, proxy: &str) -> Config {
        let mut config = through(&server.url(), proxy);
        config.root_cert = Some(vec![ours.der()]);
        config
    }

    #[tokio::test]
    async fn http_proxies_receive_connect_and_credentials() {
        let (server, ours) = https().await;
        for (name, backend) in backends() {
            for strict in [false, true] {
                let (proxy, mut received) = http_proxy(None, strict).await;
                let login = if strict { "me:p%40ss@" } else { "" };
                let config = trusting(&ours, &server, &format!("http://{login}{proxy}"));
                assert_eq!(
                    client_certificate(&client(&config, backend).unwrap()).await.unwrap(),
                    "anonymous",
                    "{name}"
                );
                let head = received.recv().await.unwrap();
                assert!(head.starts_with(&format!("CONNECT {} HTTP/1.1\r\n", server.address)), "{head}");
                assert_eq!(head.to_ascii_lowercase().contains("proxy-authorization"), strict, "{head}");
            }
        }
    }

    #[tokio::test]
    async fn https_proxies_are_verified_against_the_same_cas_and_see_no_client_certificate() {
        let (server, ours) = https().await;
        let other = CertificateAuthority::new("other");
        let me = ours.sign(&["me"]);
        let folder = tempfile::tempdir().unwrap();
        for (name, backend) in backends() {
            let with_tls = |signer: &CertificateAuthority| acceptor(&signer.sign(&["127.0.0.1"]), &ours);
            let (proxy, mut received) = http_proxy(Some(with_tls(&ours)), false).await;
            let mut config = trusting(&ours, &server, &format!("https://{proxy}"));
            let path = |name: &str, text: &str| {
                std::fs::write(folder.path().join(name), text).unwrap();
                Some(folder.path().join(name).to_str().unwrap().to_owned())
            };
            config.auth_info.client_certificate = path("crt", &me.certificate);
            config.auth_info.client_key = path("key", &me.key);
            assert_eq!(
                client_certificate(&client(&config, backend).unwrap()).await.unwrap(),
                me.as_reported(),
                "{name}"
            );
            assert!(received.recv().await.unwrap().starts_with("CONNECT "));

            let (stranger, _heard) = http_proxy(Some(with_tls(&other)), false).await;
            config.proxy_url = Some(format!("https://{stranger}").parse().unwrap());
            let text = error_text(&client_certificate(&client(&config, backend).unwrap()).await.unwrap_err());
            assert!(text.contains(&format!("proxy https://{stranger}/")), "{name}: {text}");
            assert!(text.contains("certificate"), "{name}: {text}");
        }
    }

    #[tokio::test]
    async fn socks_proxies_receive_the_target_and_credentials() {
        let (server, ours) = https().await;
        for (name, backend) in backends() {
            for strict in [false, true] {
                let (proxy, mut received) = socks_proxy(strict).await;
                let login = if strict { "me:p%40ss@" } else { "" };
                let config = trusting(&ours, &server, &format!("socks5://{login}{proxy}"));
                assert_eq!(
                    client_certificate(&client(&config, backend).unwrap()).await.unwrap(),
                    "anonymous",
                    "{name}"
                );
                assert_eq!(received.recv().await.unwrap(), server.address.to_string());
            }
        }
    }

    #[tokio::test]
    async fn a_refusing_proxy_is_named_without_its_password() {
        let (server, ours) = https().await;
        let (http, _heard) = http_proxy(None, true).await;
        let (socks, _heard) = socks_proxy(true).await;
        let (_, backend) = backends()[0];
        for (proxy, login, reason) in [
            (format!("http://me:hush@{http}"), "hush", "authorization required"),
            (format!("socks5://{socks}"), "hush", "proxy"),
            ("http://127.0.0.1:1".to_owned(), "hush", "refused"),
        ] {
            let config = trusting(&ours, &server, &proxy);
            let text = error_text(&client_certificate(&client(&config, backend).unwrap()).await.unwrap_err());
            assert!(text.contains(reason) && !text.contains(login), "{text}");
            assert!(text.contains("cannot connect to the server"), "{text}");
        }
    }

    #[tokio::test]
    async fn http_servers_are_reached_through_proxies() {
        let server = kube_testserver::TestServer::start().await.unwrap();
        let (proxy, mut received) = http_proxy(None, false).await;
        let config = through(&server.url(), &format!("http://{proxy}"));
        let (_, backend) = backends()[0];
        client(&config, backend).unwrap().apiserver_version().await.unwrap();
        assert!(received.recv().await.unwrap().starts_with(&format!("CONNECT {}", server.addr())));
        server.shutdown().await;
    }
}
