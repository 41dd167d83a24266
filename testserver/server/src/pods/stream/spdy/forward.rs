//! Port forwarding over SPDY: for each connection the client opens two streams with the same `requestID`, of type `error` and `data`.

use std::collections::HashMap;

use futures::{StreamExt, stream::FuturesUnordered};
use tokio::{io::AsyncWriteExt, sync::mpsc};

use super::session::Stream;
use crate::pods::{Connection, Kubelet, stream::request::ForwardRequest};

/// Serves until the client opens no more streams and all connections have ended.
pub(super) async fn serve(mut streams: mpsc::Receiver<Stream>, request: ForwardRequest, kubelet: &Kubelet) {
    let mut errors: HashMap<String, Stream> = HashMap::new();
    let mut running = FuturesUnordered::new();
    loop {
        tokio::select! {
            stream = streams.recv() => {
                let Some(stream) = stream else { break };
                let id = text(&stream, "requestid");
                match text(&stream, "streamtype").as_str() {
                    "error" => drop(errors.insert(id, stream)),
                    "data" => if let Some(error) = errors.remove(&id) {
                        running.push(connect(&request, kubelet, error, stream));
                    },
                    other => tracing::debug!(other, "unknown stream type"),
                }
            }
            Some(()) = running.next() => {}
        }
    }
    while running.next().await.is_some() {}
}

async fn connect(request: &ForwardRequest, kubelet: &Kubelet, mut error: Stream, data: Stream) {
    let result = match text(&data, "port").parse::<u16>() {
        Ok(port) => {
            let (namespace, pod) = (request.namespace.clone(), request.pod.clone());
            kubelet.connect(Connection { namespace, pod, port, stream: data.io }).await
        }
        Err(_) => Err(format!("{:?} is not a port", text(&data, "port"))),
    };
    if let Err(why) = result {
        // The client may have disconnected.
        drop(error.io.write_all(why.as_bytes()).await);
    }
}

fn text(stream: &Stream, header: &str) -> String {
    stream.headers.get(header).cloned().unwrap_or_default()
}
