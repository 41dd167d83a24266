//! The debug endpoints of a kubelet: exec, attach, port-forward and logs without the API server.

use http::Method;

use crate::{
    encode::Query,
    request::{Error, Request, RequestBuilder},
    subresource::{AttachParams, LogParams, check_ports, command},
};

/// Selects a pod of the node.
///
/// The requests are for the kubelet's own port (10250), whose paths and queries differ from those of the API server. They
/// need the permission `nodes/proxy`. Name and namespace must not be empty.
///
/// ```
/// use kube_core::{Request, kubelet_debug::KubeletDebugParams, subresource::{AttachParams, LogParams}};
///
/// let pod = KubeletDebugParams { name: "web-0", namespace: "shop", pod_uid: None };
/// let logs = Request::kubelet_node_logs(&pod, "app", &LogParams::default())?;
/// assert_eq!(logs.uri(), "/containerLogs/shop/web-0/app?");
///
/// let this_one = KubeletDebugParams { pod_uid: Some("f3a1"), ..pod };
/// let ap = AttachParams::default();
/// let exec = Request::kubelet_node_exec(&this_one, "app", ["id"], &ap)?;
/// assert_eq!(exec.uri(), "/exec/shop/web-0/f3a1/app?&output=1&error=1&command=id");
/// let attach = Request::kubelet_node_attach(&this_one, "app", &ap)?;
/// assert_eq!(attach.uri(), "/attach/shop/web-0/f3a1/app?&output=1&error=1");
/// let forward = Request::kubelet_node_portforward(&this_one, &[80])?;
/// assert_eq!(forward.uri(), "/portForward/shop/web-0/f3a1?&port=80");
/// # Ok::<(), kube_core::request::Error>(())
/// ```
#[derive(Default)]
pub struct KubeletDebugParams<'a> {
    /// Name of the pod.
    pub name: &'a str,
    /// Namespace of the pod.
    pub namespace: &'a str,
    /// Uid of the pod, to exclude a newer pod of the same name; `None` for the current one. Ignored for logs.
    pub pod_uid: Option<&'a str>,
}

impl KubeletDebugParams<'_> {
    /// Starts a request with the path of an endpoint, up to the pod.
    fn builder(&self, endpoint: &str) -> Result<RequestBuilder, Error> {
        RequestBuilder::root(Method::GET)
            .segment("the endpoint", endpoint)?
            .segment("the namespace", self.namespace)?
            .segment("the pod name", self.name)
    }

    /// The same with the uid, if set.
    fn builder_with_uid(&self, endpoint: &str) -> Result<RequestBuilder, Error> {
        let builder = self.builder(endpoint)?;
        match self.pod_uid {
            Some(uid) => builder.segment("the pod uid", uid),
            None => Ok(builder),
        }
    }
}

impl Request {
    /// Connects to the main process of a container through the kubelet of its node:
    /// `/attach/{namespace}/{pod}[/{uid}]/{container}`.
    ///
    /// # Errors
    ///
    /// As [`attach`](Request::attach), for each segment of the path.
    pub fn kubelet_node_attach(
        kubelet_debug_params: &KubeletDebugParams<'_>,
        container: &str,
        ap: &AttachParams,
    ) -> Result<http::Request<Vec<u8>>, Error> {
        let builder = kubelet_debug_params.builder_with_uid("attach")?.segment("the container", container)?;
        builder.query(streams(ap)?).empty()
    }

    /// Runs a command in a container through the kubelet of its node:
    /// `/exec/{namespace}/{pod}[/{uid}]/{container}`.
    ///
    /// # Errors
    ///
    /// As [`exec`](Request::exec), for each segment of the path.
    pub fn kubelet_node_exec<I, T>(
        kubelet_debug_params: &KubeletDebugParams<'_>,
        container: &str,
        command: I,
        ap: &AttachParams,
    ) -> Result<http::Request<Vec<u8>>, Error>
    where
        I: IntoIterator<Item = T> + std::fmt::Debug,
        T: Into<String>,
    {
        let mut query = streams(ap)?;
        self::command(command, &mut query)?;
        kubelet_debug_params
            .builder_with_uid("exec")?
            .segment("the container", container)?
            .query(query)
            .empty()
    }

    /// Connects to ports of a pod through the kubelet of its node: `/portForward/{namespace}/{pod}[/{uid}]`.
    ///
    /// # Errors
    ///
    /// As [`portforward`](Request::portforward), for each segment of the path.
    pub fn kubelet_node_portforward(
        kubelet_debug_params: &KubeletDebugParams<'_>,
        ports: &[u16],
    ) -> Result<http::Request<Vec<u8>>, Error> {
        let mut query = Query::default();
        query.push("port", &check_ports(ports)?);
        kubelet_debug_params.builder_with_uid("portForward")?.query(query).empty()
    }

    /// Reads the log of a container through the kubelet of its node: `/containerLogs/{namespace}/{pod}/{container}`.
    ///
    /// The path names the container: [`LogParams::container`] is ignored.
    ///
    /// # Errors
    ///
    /// As [`logs`](Request::logs), for each segment of the path.
    pub fn kubelet_node_logs(
        kubelet_debug_params: &KubeletDebugParams<'_>,
        container: &str,
        lp: &LogParams,
    ) -> Result<http::Request<Vec<u8>>, Error> {
        let query = LogParams { container: None, ..lp.clone() }.query()?;
        let builder = kubelet_debug_params.builder("containerLogs")?.segment("the container", container)?;
        builder.query(query).accept("*/*").empty()
    }
}

/// The streams as query parameters of kubelets, whose names differ from those of the API server.
fn streams(ap: &AttachParams) -> Result<Query, Error> {
    ap.check()?;
    let mut query = Query::default();
    for (name, is_on) in [("input", ap.stdin), ("output", ap.stdout), ("error", ap.stderr), ("tty", ap.tty)] {
        if is_on {
            query.push(name, "1");
        }
    }
    Ok(query)
}

#[cfg(test)]
mod tests {
    use super::{AttachParams, Error, KubeletDebugParams, LogParams, Request};

    fn rejection(request: Result<http::Request<Vec<u8>>, Error>) -> String {
        match request.expect_err("the parameters are not valid") {
            Error::Validation(why) => why,
            other => panic!("another error: {other:?}"),
        }
    }

    const POD: KubeletDebugParams<'_> = KubeletDebugParams { name: "a", namespace: "web", pod_uid: None };
    const INCARNATION: KubeletDebugParams<'_> = KubeletDebugParams { pod_uid: Some("u-1"), ..POD };

    /// Method, target and the only header; these requests have no body.
    fn show(request: Result<http::Request<Vec<u8>>, Error>) -> String {
        let request = request.expect("valid");
        assert!(request.body().is_empty() && request.headers().len() == 1);
        let accept = request.headers()["accept"].to_str().expect("ASCII");
        format!("{} {} {accept}", request.method(), request.uri())
    }

    #[test]
    fn each_endpoint_has_its_path_and_query() {
        let (ap, tty) = (AttachParams::default(), AttachParams::interactive_tty());
        assert_eq!(
            show(Request::kubelet_node_attach(&POD, "c", &ap)),
            "GET /attach/web/a/c?&output=1&error=1 application/json"
        );
        assert_eq!(
            show(Request::kubelet_node_exec(&INCARNATION, "c", ["id"], &tty)),
            "GET /exec/web/a/u-1/c?&input=1&output=1&tty=1&command=id application/json"
        );
        assert_eq!(
            show(Request::kubelet_node_portforward(&POD, &[80, 81])),
            "GET /portForward/web/a?&port=80%2C81 application/json"
        );
        assert_eq!(
            show(Request::kubelet_node_portforward(&INCARNATION, &[80])),
            "GET /portForward/web/a/u-1?&port=80 application/json"
        );
        let lp = LogParams { tail_lines: Some(3), container: Some("other".into()), ..LogParams::default() };
        assert_eq!(
            show(Request::kubelet_node_logs(&INCARNATION, "c", &lp)),
            "GET /containerLogs/web/a/c?&tailLines=3 */*"
        );
        let odd = KubeletDebugParams { name: "a b", namespace: "ü", pod_uid: Some("u?") };
        assert_eq!(
            show(Request::kubelet_node_portforward(&odd, &[80])),
            "GET /portForward/%C3%BC/a%20b/u%3F?&port=80 application/json"
        );
    }

    #[test]
    fn unsafe_segments_and_invalid_parameters_are_rejected() {
        let ap = AttachParams::default();
        let odd = KubeletDebugParams { namespace: "", ..POD };
        assert!(rejection(Request::kubelet_node_attach(&odd, "c", &ap)).starts_with("the namespace \"\""));
        let upwards = KubeletDebugParams { name: "..", ..POD };
        let logs = Request::kubelet_node_logs(&upwards, "c", &LogParams::default());
        assert!(rejection(logs).starts_with("the pod name \"..\""));
        let encoded = KubeletDebugParams { pod_uid: Some("a%2Fb"), ..POD };
        assert!(rejection(Request::kubelet_node_portforward(&encoded, &[80])).starts_with("the pod uid"));
        assert!(
            rejection(Request::kubelet_node_attach(&POD, "c/d", &ap)).starts_with("the container \"c/d\"")
        );
        assert!(rejection(Request::kubelet_node_exec(&POD, "c", [""; 0], &ap)).contains("command"));
        assert!(rejection(Request::kubelet_node_portforward(&POD, &[])).contains("ports cannot be empty"));
    }
}
