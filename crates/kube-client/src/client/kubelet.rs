//! The debug endpoints of a kubelet, for a client whose cluster URL is that of the kubelet.

use std::fmt::Debug;

use futures::AsyncBufRead;
use kube_core::Request;
use kube_core::kubelet_debug::KubeletDebugParams;
use kube_core::subresource::{AttachParams, LogParams};

use super::{Client, with_verb};
use crate::Result;
use crate::websocket::{AttachedProcess, Portforwarder};

impl Client {
    /// Attaches to the main process of a container.
    ///
    /// # Errors
    /// As [`Client::connect`], and [`Error::BuildRequest`](crate::Error::BuildRequest) for invalid parameters.
    pub async fn kubelet_node_attach(
        &self,
        kubelet_params: &KubeletDebugParams<'_>,
        container: &str,
        ap: &AttachParams,
    ) -> Result<AttachedProcess> {
        let request = Request::kubelet_node_attach(kubelet_params, container, ap);
        self.attach(with_verb("kubelet_node_attach", request)?, ap).await
    }

    /// Runs a command (the program and its arguments, no shell) in a container.
    ///
    /// # Errors
    /// As [`Client::kubelet_node_attach`].
    pub async fn kubelet_node_exec<I, T>(
        &self,
        kubelet_params: &KubeletDebugParams<'_>,
        container: &str,
        command: I,
        ap: &AttachParams,
    ) -> Result<AttachedProcess>
    where
        I: IntoIterator<Item = T> + Debug,
        T: Into<String>,
    {
        let request = Request::kubelet_node_exec(kubelet_params, container, command, ap);
        self.attach(with_verb("kubelet_node_exec", request)?, ap).await
    }

    /// Forwards ports of a pod.
    ///
    /// # Errors
    /// As [`Client::kubelet_node_attach`].
    pub async fn kubelet_node_portforward(
        &self,
        kubelet_params: &KubeletDebugParams<'_>,
        ports: &[u16],
    ) -> Result<Portforwarder> {
        let request = Request::kubelet_node_portforward(kubelet_params, ports);
        self.forward(with_verb("kubelet_node_portforward", request)?, ports).await
    }

    /// Reads the log of a container as a stream.
    ///
    /// # Errors
    /// As [`Client::request_stream`], and [`Error::BuildRequest`](crate::Error::BuildRequest) for invalid parameters.
    pub async fn kubelet_node_logs(
        &self,
        kubelet_params: &KubeletDebugParams<'_>,
        container: &str,
        lp: &LogParams,
    ) -> Result<impl AsyncBufRead + use<>> {
        let request = Request::kubelet_node_logs(kubelet_params, container, lp);
        self.request_stream(with_verb("kubelet_node_logs", request)?).await
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use http::Response;

    use super::*;
    use crate::body::Body;
    use crate::error::Error;

    #[tokio::test]
    async fn requests_use_the_endpoints_of_a_kubelet() {
        let requests = Arc::new(Mutex::new(Vec::new()));
        let recorded = Arc::clone(&requests);
        let kubelet = tower::service_fn(move |request: http::Request<Body>| {
            let upgrade = request.headers().contains_key(http::header::UPGRADE);
            recorded.lock().unwrap().push((request.uri().path().to_owned(), upgrade));
            let response = Response::builder().status(404).body(Body::empty());
            std::future::ready(response)
        });
        let client = Client::new(kubelet, "default");
        let pod = KubeletDebugParams { name: "web-0", namespace: "shop", ..Default::default() };
        let params = AttachParams::default();
        let assert_404 =
            |err: Option<Error>| assert!(matches!(err, Some(Error::Api(status)) if status.code == 404));
        assert_404(client.kubelet_node_attach(&pod, "app", &params).await.err());
        assert_404(client.kubelet_node_exec(&pod, "app", ["ls"], &params).await.err());
        assert_404(client.kubelet_node_portforward(&pod, &[80]).await.err());
        assert_404(client.kubelet_node_logs(&pod, "app", &LogParams::default()).await.err());
        let requests = requests.lock().unwrap();
        let requests: Vec<_> = requests.iter().map(|(path, upgrade)| (path.as_str(), *upgrade)).collect();
        assert_eq!(
            requests,
            [
                ("/attach/shop/web-0/app", true),
                ("/exec/shop/web-0/app", true),
                ("/portForward/shop/web-0", true),
                ("/containerLogs/shop/web-0/app", false),
            ]
        );
    }
}
