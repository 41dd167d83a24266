use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::mpsc,
};

use super::{command, forward, session};
use crate::{
    kubelet::Kubelet,
    stream::{ask::Ask, command::LINGER},
};

/// Serves what was asked for over one connection, until it is done or the client is gone.
pub(in crate::stream) async fn serve(io: impl AsyncRead + AsyncWrite, ask: Ask, kubelet: &Kubelet) {
    let (opened, streams) = mpsc::channel(8);
    let answers = async {
        match ask {
            Ask::Command(ask) => command::serve(streams, ask, kubelet).await,
            Ask::Forward(ask) => forward::serve(streams, ask, kubelet).await,
        }
        // The client closes the connection once it has read all.
        tokio::time::sleep(LINGER).await;
    };
    tokio::select! {
        () = session::run(io, opened) => {}
        () = answers => {}
    }
}
