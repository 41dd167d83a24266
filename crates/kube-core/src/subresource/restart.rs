//! Restarting the pods of a workload.

use jiff::Timestamp;

use crate::{
    params::{Patch, PatchParams},
    request::{Error, Request},
};

impl Request {
    /// Replaces the pods of a workload one after the other, as `kubectl rollout restart` does: the pod template gets
    /// an annotation with the present time.
    ///
    /// For the kinds that are [`Restart`](crate::util::Restart). This is the one request that reads the clock.
    ///
    /// # Errors
    ///
    /// [`Error::Validation`] for a name that no encoding makes safe.
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

    fn restart_at(&self, name: &str, now: Timestamp) -> Result<http::Request<Vec<u8>>, Error> {
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
    fn the_annotation_holds_the_time() {
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
