//! Requests that open a websocket: exec, attach and port-forward.

use http::{Request, StatusCode};
use kube_core::subresource::AttachParams;

use super::Client;
use crate::Result;
use crate::body::Body;
use crate::decode::expect_success;
use crate::error::Error;
use crate::websocket::{AttachedProcess, Connection, Handshake, Portforwarder, UpgradeConnectionError};

impl Client {
    /// Opens a websocket on its own HTTP/1.1 connection. It offers versions 5 and 4 of the channel protocol, unless the request has
    /// another `Sec-WebSocket-Protocol`.
    ///
    /// # Errors
    /// [`Error::Api`] if the server refuses, [`Error::UpgradeConnection`] if it does not switch to a websocket of an offered protocol,
    /// others as [`Client::send`].
    pub async fn connect(&self, request: Request<Vec<u8>>) -> Result<Connection> {
        let mut request = request.map(Body::from);
        let handshake = Handshake::start(request.headers_mut());
        let mut response = self.send(request).await?;
        if response.status() != StatusCode::SWITCHING_PROTOCOLS {
            response = expect_success(response).await?;
        }
        let agreed =
            handshake.check(response.status(), response.headers()).map_err(Error::UpgradeConnection)?;
        let upgraded = hyper::upgrade::on(response)
            .await
            .map_err(|err| Error::UpgradeConnection(UpgradeConnectionError::GetPendingUpgrade(err)))?;
        Ok(Connection::new(upgraded, agreed).await)
    }

    /// Opens a websocket to a process.
    pub(crate) async fn attach(
        &self,
        request: Request<Vec<u8>>,
        ap: &AttachParams,
    ) -> Result<AttachedProcess> {
        Ok(AttachedProcess::start(self.connect(request).await?, ap))
    }

    /// Opens a websocket to these ports.
    pub(crate) async fn forward(&self, request: Request<Vec<u8>>, ports: &[u16]) -> Result<Portforwarder> {
        Ok(Portforwarder::start(self.connect(request).await?, ports))
    }
}
