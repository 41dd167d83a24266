//! A minimal websocket client.

use std::time::Duration;

use futures::{SinkExt, StreamExt};
use http::HeaderValue;
use kube_testserver::TestServer;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::{
    WebSocketStream, client_async,
    tungstenite::{Error, Message, client::IntoClientRequest},
};

use crate::client::TestClient;

pub(crate) const V4: &str = "v4.channel.k8s.io";
pub(crate) const V5: &str = "v5.channel.k8s.io";
pub(crate) const PODS: &str = "/api/v1/namespaces/default/pods";

/// A server with a scheduled pod `web`, and its containers.
pub(crate) async fn with_pod(containers: &[&str]) -> (TestServer, TestClient) {
    let server = TestServer::start().await.unwrap();
    let client = TestClient { api: server.api() };
    let containers: Vec<Value> = containers.iter().map(|name| json!({"name": name, "image": "i"})).collect();
    let spec = json!({"nodeName": "node", "containers": containers});
    client.post(PODS, json!({"metadata": {"name": "web"}, "spec": spec})).await.ok();
    let status = json!({"status": {"phase": "Running"}});
    client.patch(crate::client::MERGE, &format!("{PODS}/web/status"), status).await.ok();
    (server, client)
}

pub(crate) struct Channels(WebSocketStream<TcpStream>);

impl Channels {
    pub(crate) async fn open(server: &TestServer, protocol: &str, path: &str) -> Self {
        Self::try_open(server, protocol, path).await.unwrap()
    }

    /// `Err` holds the status code and `Status` of the response.
    pub(crate) async fn try_open(
        server: &TestServer,
        protocol: &str,
        path: &str,
    ) -> Result<Self, (u16, Value)> {
        let stream = TcpStream::connect(server.addr()).await.unwrap();
        let mut request = format!("ws://{}{PODS}/{path}", server.addr()).into_client_request().unwrap();
        let value = HeaderValue::from_str(protocol).unwrap();
        request.headers_mut().insert("sec-websocket-protocol", value);
        match client_async(request, stream).await {
            Ok((socket, answer)) => {
                let chosen = answer.headers()["sec-websocket-protocol"].to_str().unwrap();
                assert!(protocol.contains(chosen));
                Ok(Self(socket))
            }
            Err(Error::Http(answer)) => {
                let body = answer.body().as_deref().unwrap_or_default();
                Err((answer.status().as_u16(), serde_json::from_slice(body).unwrap_or_default()))
            }
            Err(error) => panic!("{error}"),
        }
    }

    pub(crate) async fn send(&mut self, channel: u8, data: &[u8]) {
        self.0.send(Message::binary([&[channel], data].concat())).await.unwrap();
    }

    /// The next message; `None` once the server has closed the connection.
    pub(crate) async fn next(&mut self) -> Option<(u8, Vec<u8>)> {
        let next = tokio::time::timeout(Duration::from_secs(20), self.0.next());
        match next.await.expect("a message in time")? {
            Ok(Message::Binary(data)) => Some((data[0], data[1..].to_vec())),
            Ok(Message::Close(_)) | Err(_) => None,
            Ok(other) => panic!("unexpected {other:?}"),
        }
    }

    /// Everything until the server closes: the data of each channel below 4.
    pub(crate) async fn rest(&mut self) -> [String; 4] {
        let mut all = [const { Vec::new() }; 4];
        while let Some((channel, data)) = self.next().await {
            all[usize::from(channel)].extend(data);
        }
        all.map(|data| String::from_utf8(data).unwrap())
    }

    pub(crate) async fn close(mut self) {
        self.0.close(None).await.unwrap();
    }
}
