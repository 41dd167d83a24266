//! Websockets over TLS by each library of the build.

use futures::{SinkExt, StreamExt};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::server::{Request, Response};

use super::servers::{CertificateAuthority, acceptor, listen};
use super::{backends, client};
use crate::config::Config;

#[tokio::test]
#[allow(clippy::result_large_err, reason = "tungstenite defines the type of the callback")]
async fn a_websocket_opens_over_tls() {
    let ours = CertificateAuthority::new("ours");
    let acceptor = acceptor(&ours.sign(&["127.0.0.1"]), &ours);
    let address = listen(move |stream| {
        let acceptor = acceptor.clone();
        async move {
            let stream = acceptor.accept(stream).await.unwrap();
            let agree = |_: &Request, mut response: Response| {
                response.headers_mut().insert("sec-websocket-protocol", "v5.channel.k8s.io".parse().unwrap());
                Ok(response)
            };
            let mut socket = tokio_tungstenite::accept_hdr_async(stream, agree).await.unwrap();
            let message = socket.next().await.unwrap().unwrap();
            socket.send(message).await.unwrap();
        }
    })
    .await;
    for (name, backend) in backends() {
        let mut config = Config::new(format!("https://{address}").parse().unwrap());
        config.root_cert = Some(vec![ours.der()]);
        let client = client(&config, backend).unwrap();
        let request = http::Request::get("/api/v1/namespaces/a/pods/b/exec").body(Vec::new()).unwrap();
        let mut socket = client.connect(request).await.unwrap().into_stream();
        socket.send(Message::binary(name.as_bytes().to_vec())).await.unwrap();
        assert_eq!(socket.next().await.unwrap().unwrap().into_data(), name.as_bytes(), "{name}");
    }
}
