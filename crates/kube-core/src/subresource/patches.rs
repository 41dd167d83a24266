//! Merge patches that kubectl has commands for: `cordon`, `uncordon`, `rollout restart`.

use jiff::Timestamp;

use crate::{
    params::{Patch, PatchParams},
    request::{Error, Request},
};

impl Request {
    /// Marks a node as unschedulable: running pods stay, new ones are not scheduled. A merge patch of `spec.unschedulable`.
    ///
    /// # Errors
    ///
    /// [`Error::Validation`] for an unsafe name (see [`Request`]).
    ///
    /// ```
    /// use kube_core::Request;
    /// let nodes = Request::new("/api/v1/nodes");
    /// assert_eq!(nodes.cordon("n1")?.body(), br#"{"spec":{"unschedulable":true}}"#);
    /// assert_eq!(nodes.uncordon("n1")?.body(), br#"{"spec":{"unschedulable":false}}"#);
    /// # Ok::<(), kube_core::request::Error>(())
    /// ```
    pub fn cordon(&self, name: &str) -> Result<http::Request<Vec<u8>>, Error> {
        self.set_unschedulable(name, true)
    }

    /// Marks a node as schedulable again; the reverse of [`cordon`](Self::cordon).
    ///
    /// # Errors
    ///
    /// As [`cordon`](Self::cordon).
    pub fn uncordon(&self, name: &str) -> Result<http::Request<Vec<u8>>, Error> {
        self.set_unschedulable(name, false)
    }

    fn set_unschedulable(&self, name: &str, value: bool) -> Result<http::Request<Vec<u8>>, Error> {
        let patch = Patch::Merge(serde_json::json!({ "spec": { "unschedulable": value } }));
        self.patch(name, &PatchParams::default(), &patch)
    }

    /// Restarts the pods of a workload by a rollout, as `kubectl rollout restart` does: it sets an annotation of the pod template
    /// to the current time.
    ///
    /// For kinds that implement [`Restart`](crate::util::Restart). This is the only request that reads the clock.
    ///
    /// # Errors
    ///
    /// [`Error::Validation`] for an unsafe name (see [`Request`]).
    ///
    /// ```
    /// use kube_core::Request;
    /// let request = Request::new("/apis/apps/v1/namespaces/web/deployments").restart("front")?;
    /// assert_eq!(request.method(), "PATCH");
    /// assert!(String::from_utf8_lossy(request.body()).contains("kubectl.kubernetes.io/restartedAt"));
    /// # Ok::<(), kube_core::request::Error>(())
    /// ```
    pub fn restart(&self, name: &str) -> Result<http::Request<Vec<u8>>, Error> {
        self.restart_at(name, Timestamp::now())
    }

    /// Like [`restart`](Self::restart), at this time.
    ///
    /// # Errors
    ///
    /// As [`restart`](Self::restart).
    #[doc(hidden)]
    pub fn restart_at(&self, name: &str, now: Timestamp) -> Result<http::Request<Vec<u8>>, Error> {
        let annotations = serde_json::json!({ "kubectl.kubernetes.io/restartedAt": now.to_string() });
        let patch = Patch::Merge(serde_json::json!({
            "spec": { "template": { "metadata": { "annotations": annotations } } }
        }));
        self.patch(name, &PatchParams::default(), &patch)
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use crate::request::Request;

    #[test]
    fn restart_sets_the_annotation_to_the_time() {
        let request = Request::new("/apis/apps/v1/namespaces/web/deployments");
        let at: Timestamp = "2024-05-06T07:08:09.5Z".parse().expect("valid");
        let built = request.restart_at("front", at).expect("valid");
        assert_eq!(built.method(), "PATCH");
        assert_eq!(built.uri(), "/apis/apps/v1/namespaces/web/deployments/front");
        assert_eq!(built.headers()["content-type"], "application/merge-patch+json");
        let body: serde_json::Value = serde_json::from_slice(built.body()).expect("valid");
        let annotation =
            &body["spec"]["template"]["metadata"]["annotations"]["kubectl.kubernetes.io/restartedAt"];
        assert_eq!(annotation, "2024-05-06T07:08:09.5Z");
    }
}
