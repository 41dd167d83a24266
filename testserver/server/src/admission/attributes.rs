//! A write as webhooks and policies see it.

use serde_json::{Map, Value, json};

use super::{AdmissionContext, Operation, Write};
use crate::{call::Call, crd::conversion, scheme::Endpoint, webhook::Interruption};

/// A write, as webhooks see it. `object` and `old` are the objects of the endpoint or of its subresource.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attributes<'a> {
    pub(crate) operation: Operation,
    pub(crate) call: &'a Call,
    pub(crate) object: Option<&'a Value>,
    pub(crate) old: Option<&'a Value>,
    pub(crate) dry_run: bool,
}

impl Attributes<'_> {
    pub(super) fn endpoint(&self) -> &Endpoint {
        &self.call.endpoint
    }

    /// The write, as built-in plugins see it.
    pub(crate) fn write(&self) -> Write<'_> {
        Write {
            operation: self.operation,
            endpoint: self.endpoint(),
            subresource: self.call.subresource.as_deref(),
            namespace: self.call.namespace.as_deref(),
            old: self.old,
        }
    }

    /// The new object, else the old one.
    pub(super) fn subject(&self) -> Option<&Value> {
        self.object.or(self.old)
    }

    /// The name in the path or of the object; empty if it is still to be generated.
    pub(super) fn name(&self) -> &str {
        let of_object = || self.object.map(crate::object::meta::name).unwrap_or_default();
        self.call.name.as_deref().unwrap_or_else(of_object)
    }

    /// The request of an `AdmissionReview`, without its uid, in the version `endpoint` of the resource. The objects are converted, which
    /// may need a conversion webhook.
    pub(super) fn request(
        &self,
        context: AdmissionContext<'_>,
        endpoint: &Endpoint,
    ) -> Result<Value, Interruption> {
        let mine = self.endpoint();
        let converted = |object: Option<&Value>| match object {
            Some(object) => conversion::between_versions(
                context.storage,
                &self.call.webhook_responses,
                mine,
                endpoint,
                object.clone(),
            ),
            None => Ok(Value::Null),
        };
        let resource = |of: &Endpoint| json!({"group": of.group(), "version": of.version().name, "resource": of.plural()});
        let mut out = Map::new();
        out.insert("kind".into(), self.kind(endpoint));
        out.insert("resource".into(), resource(endpoint));
        out.insert("requestKind".into(), self.kind(mine));
        out.insert("requestResource".into(), resource(mine));
        if let Some(sub) = &self.call.subresource {
            out.insert("subResource".into(), sub.as_str().into());
            out.insert("requestSubResource".into(), sub.as_str().into());
        }
        if !self.name().is_empty() {
            out.insert("name".into(), self.name().into());
        }
        if let Some(namespace) = self.namespace() {
            out.insert("namespace".into(), namespace.into());
        }
        out.insert("operation".into(), self.operation.name().into());
        out.insert("userInfo".into(), self.call.user.to_value());
        out.insert("object".into(), converted(self.object)?);
        out.insert("oldObject".into(), converted(self.old)?);
        out.insert("dryRun".into(), self.dry_run.into());
        out.insert("options".into(), self.options());
        Ok(Value::Object(out))
    }

    /// The namespace of a Namespace is itself.
    pub(super) fn namespace(&self) -> Option<&str> {
        if self.endpoint().is_core("namespaces") { Some(self.name()) } else { self.call.namespace.as_deref() }
    }

    fn kind(&self, endpoint: &Endpoint) -> Value {
        let sub = self.call.subresource.as_deref().and_then(|name| endpoint.subresource(name));
        let (group, version, kind) = match sub {
            Some(sub) => (sub.group.as_str(), sub.version.as_str(), sub.kind.as_str()),
            None => (endpoint.group(), endpoint.version().name.as_str(), endpoint.kind()),
        };
        json!({"group": group, "version": version, "kind": kind})
    }

    fn options(&self) -> Value {
        let Some(kind) = self.operation.options() else { return Value::Null };
        let mut options = json!({"kind": kind, "apiVersion": "meta.k8s.io/v1"});
        if self.dry_run {
            options["dryRun"] = json!(["All"]);
        }
        for option in ["fieldManager", "fieldValidation"] {
            if let Some(value) = self.call.query.get(option).filter(|_| self.operation != Operation::Delete) {
                options[option] = value.into();
            }
        }
        options
    }
}
