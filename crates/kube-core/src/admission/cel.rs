//! Converts an admission request into the input of the policy evaluator.

use super::{AdmissionRequest, Operation};
use crate::resource::Resource;

impl<T: Resource> AdmissionRequest<T> {
    /// The variable `request` of admission policy expressions, for [`VapEvaluator`](crate::cel::VapEvaluator).
    ///
    /// `uid` is the uid of the user, not of the request. Absent fields become empty. Names and groups are copied, the
    /// objects are not.
    ///
    /// ```
    /// use kube_core::{DynamicObject, admission::AdmissionRequest, cel::{VapEvaluator, VapExpression}};
    ///
    /// let request: AdmissionRequest<DynamicObject> = serde_json::from_str(r#"{
    ///     "uid": "705ab4f5", "operation": "DELETE", "namespace": "web", "userInfo": {"username": "me"},
    ///     "kind": {"group": "", "version": "v1", "kind": "ConfigMap"},
    ///     "resource": {"group": "", "version": "v1", "resource": "configmaps"}}"#)?;
    /// let policy = VapExpression {
    ///     expression: "request.operation != 'DELETE' || request.userInfo.username == 'me'".into(),
    ///     message: None,
    ///     message_expression: None,
    /// };
    /// let results = VapEvaluator::builder().request(request.to_cel_request()).build().evaluate(&[policy]);
    /// assert!(results[0].passed);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn to_cel_request(&self) -> kube_cel::AdmissionRequest {
        kube_cel::AdmissionRequest {
            operation: match self.operation {
                Operation::Create => "CREATE",
                Operation::Update => "UPDATE",
                Operation::Delete => "DELETE",
                Operation::Connect => "CONNECT",
            }
            .into(),
            username: self.user_info.username.clone().unwrap_or_default(),
            uid: self.user_info.uid.clone().unwrap_or_default(),
            groups: self.user_info.groups.clone().unwrap_or_default(),
            name: self.name.clone(),
            namespace: self.namespace.clone().unwrap_or_default(),
            dry_run: self.dry_run,
            kind: kube_cel::GroupVersionKind {
                group: self.kind.group.clone(),
                version: self.kind.version.clone(),
                kind: self.kind.kind.clone(),
            },
            resource: kube_cel::GroupVersionResource {
                group: self.resource.group.clone(),
                version: self.resource.version.clone(),
                resource: self.resource.resource.clone(),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;
    use serde_json::json;

    use super::AdmissionRequest;
    use crate::cel::{VapEvaluator, VapExpression};

    #[test]
    fn policies_see_the_request() {
        let request: AdmissionRequest<ConfigMap> = serde_json::from_value(json!({
            "uid": "705ab4f5", "operation": "DELETE", "name": "settings", "namespace": "web", "dryRun": true,
            "kind": {"group": "", "version": "v1", "kind": "ConfigMap"},
            "resource": {"group": "", "version": "v1", "resource": "configmaps"},
            "userInfo": {"username": "me", "uid": "u-1", "groups": ["g"]},
        }))
        .expect("valid");
        let policies = VapEvaluator::builder().request(request.to_cel_request()).build();
        for expression in [
            "request.operation == 'DELETE' && request.dryRun",
            "request.userInfo.username == 'me' && request.userInfo.uid == 'u-1' && request.userInfo.groups == ['g']",
            "request.name == 'settings' && request.namespace == 'web'",
            "request.kind.kind == 'ConfigMap' && request.resource.resource == 'configmaps'",
        ] {
            let expression =
                VapExpression { expression: expression.into(), message: None, message_expression: None };
            let results = policies.evaluate(&[expression]);
            assert!(results[0].passed, "{}: {:?}", results[0].expression, results[0].message);
        }
    }
}
