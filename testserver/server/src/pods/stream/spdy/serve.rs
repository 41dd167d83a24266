//! Serves one agreed SPDY connection.

use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::mpsc,
};

use super::{command, forward, session};
use crate::pods::{
    Kubelet,
    stream::{command::CLOSE_TIMEOUT, request::StreamRequest},
};

/// Serves a streaming request over one connection until it is complete or the client disconnects.
pub(super) async fn serve(io: impl AsyncRead + AsyncWrite, request: StreamRequest, kubelet: &Kubelet) {
    let (opened, streams) = mpsc::channel(8);
    let requests = async {
        match request {
            StreamRequest::Command(request) => command::serve(streams, request, kubelet).await,
            StreamRequest::Forward(request) => forward::serve(streams, request, kubelet).await,
        }
        // The client closes the connection once it has read everything.
        tokio::time::sleep(CLOSE_TIMEOUT).await;
    };
    tokio::select! {
        () = session::run(io, opened) => {}
        () = requests => {}
    }
}
