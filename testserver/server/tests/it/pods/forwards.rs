//! `port-forward` to scripts and real sockets.

use kube_testserver::Connection;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

use super::channels::{Channels, V4, V5, with_pod};

fn number(port: u16) -> Vec<u8> {
    port.to_le_bytes().to_vec()
}

#[tokio::test]
async fn each_port_has_a_channel_for_data_and_one_for_errors() {
    let (server, _) = with_pod(&["main"]).await;
    server.api().kubelet().on_port_forward(async |mut connection: Connection| {
        if connection.port == 81 {
            return Err("nothing there".to_owned());
        }
        let mut word = [0; 4];
        connection.stream.read_exact(&mut word).await.unwrap();
        connection.stream.write_all(&word.map(|byte| byte.to_ascii_uppercase())).await.unwrap();
        Ok(())
    });
    // Clients offer both protocols; only the older one supports ports.
    let offered = format!("{V5}, {V4}");
    let mut ports = Channels::open(&server, &offered, "web/portforward?ports=80&ports=81").await;
    ports.send(0, b"ping").await;
    let mut all = [const { Vec::new() }; 4];
    while let Some((channel, data)) = ports.next().await {
        all[usize::from(channel)].extend(data);
    }
    let with = |port, text: &[u8]| [number(port), text.to_vec()].concat();
    assert_eq!(all, [with(80, b"PING"), with(80, b""), with(81, b""), with(81, b"nothing there")]);
    server.shutdown().await;
}

#[tokio::test]
async fn a_port_can_forward_to_a_socket() {
    let (server, _) = with_pod(&["main"]).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    server.api().kubelet().listen(80, listener.local_addr().unwrap());
    let mut ports = Channels::open(&server, V4, "web/portforward?ports=80").await;
    let (mut socket, _) = listener.accept().await.unwrap();
    ports.send(0, b"over").await;
    let mut word = [0; 4];
    socket.read_exact(&mut word).await.unwrap();
    assert_eq!(&word, b"over");
    socket.write_all(b"back").await.unwrap();
    drop(socket);
    let [data, error, ..] = ports.rest().await;
    assert!(data.ends_with("back"), "{data:?}");
    assert_eq!(error.as_bytes(), number(80));

    let mut ports = Channels::open(&server, V4, "web/portforward?ports=9").await;
    let [_, error, ..] = ports.rest().await;
    assert!(error.ends_with("connection refused"), "{error:?}");
    server.shutdown().await;
}
