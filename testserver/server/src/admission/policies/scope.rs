//! What the expressions of a policy see.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::{Value, json};

use crate::{
    admission::{AdmissionContext, Attributes, Binding, Parameter, Policy},
    object::meta,
    rbac::{AuthorizationAttributes, User},
    schema::{
        AccessCheck, Authorize, CelValue, Expression, REQUEST_RESOURCE, Scope, authorizer, cel_map, untyped,
    },
    storage::Key,
};

/// The variables of one evaluation.
pub(crate) struct PolicyScope {
    scope: Scope<'static>,
    /// Why variables of the policy have no value. Only expressions that use one fail.
    failed: BTreeMap<String, String>,
}

impl PolicyScope {
    /// `request` is that of an `AdmissionReview`; its objects are variables of their own.
    pub(super) fn new(
        context: AdmissionContext<'_>,
        policy: &Policy,
        write: &Attributes<'_>,
        request: &Value,
        param: Option<&Value>,
    ) -> Self {
        let mut scope = Scope::new();
        scope.set("object", untyped(&request["object"]));
        scope.set("oldObject", untyped(&request["oldObject"]));
        let mut rest = request.clone();
        if let Some(map) = rest.as_object_mut() {
            map.remove("object");
            map.remove("oldObject");
        }
        scope.set("request", untyped(&rest));
        scope.set("params", untyped(param.unwrap_or(&Value::Null)));
        scope.set("namespaceObject", untyped(&namespace_object(context, write)));
        let (authorize, of_request) = (authorize(context, write), resource_check(write));
        scope.set("authorizer", authorizer(authorize.clone(), AccessCheck::default()));
        scope.set(REQUEST_RESOURCE, authorizer(authorize, of_request));
        let mut composed = Self { scope, failed: BTreeMap::new() };
        let mut values: BTreeMap<&str, CelValue> = BTreeMap::new();
        for variable in &policy.variables {
            composed.scope.set("variables", cel_map(&values));
            match composed.run(&variable.expression) {
                Ok(value) => drop(values.insert(&variable.name, value)),
                Err(why) => drop(composed.failed.insert(variable.name.clone(), why)),
            }
        }
        composed.scope.set("variables", cel_map(&values));
        composed
    }

    /// Whether all match conditions are true. One that is false decides, even when another cannot be evaluated.
    pub(super) fn conditions_hold(&self, policy: &Policy) -> Result<bool, String> {
        let mut failed = None;
        for (name, condition) in &policy.conditions {
            match self.holds(condition) {
                Ok(true) => {}
                Ok(false) => return Ok(false),
                Err(why) => {
                    failed = Some(format!("the match condition {name:?} could not be evaluated: {why}"))
                }
            }
        }
        failed.map_or(Ok(true), Err)
    }

    /// Evaluates a condition.
    pub(super) fn holds(&self, expression: &Expression) -> Result<bool, String> {
        expression.holds(&self.scope).map_err(|why| self.explained(why))
    }

    /// Evaluates an expression to a text.
    pub(super) fn text(&self, expression: &Expression) -> Option<String> {
        expression.text(&self.scope)
    }

    /// Evaluates an expression to JSON.
    pub(super) fn json(&self, expression: &Expression) -> Result<Value, String> {
        expression.json(&self.scope).map_err(|why| self.explained(why))
    }

    fn run(&self, expression: &Expression) -> Result<CelValue, String> {
        expression.run(&self.scope).map_err(|why| self.explained(why))
    }

    /// The error of an expression, or of the variable that it uses.
    fn explained(&self, why: String) -> String {
        let variable = why.strip_prefix("no such key: ");
        match variable.and_then(|name| Some((name, self.failed.get(name)?))) {
            Some((name, cause)) => format!("composited variable {name:?} fails to evaluate: {cause}"),
            None => why,
        }
    }
}

/// Checks with RBAC; without it everything is allowed.
fn authorize(context: AdmissionContext<'_>, write: &Attributes<'_>) -> Arc<Authorize> {
    let rbac = context.access.enforces_rbac().then(|| context.access.authorizer(context.storage));
    let user = write.call.user.clone();
    Arc::new(move |check: &AccessCheck| {
        let Some(rbac) = &rbac else { return Some(String::new()) };
        let attributes = attributes(check);
        match &check.service_account {
            Some((namespace, name)) => {
                rbac.allows(&User::of_service_account(namespace, name).with_implicit_group(), &attributes)
            }
            None => rbac.allows(&user, &attributes),
        }
    })
}

fn attributes(check: &AccessCheck) -> AuthorizationAttributes {
    let verb = check.verb.clone();
    if !check.path.is_empty() {
        return AuthorizationAttributes::NonResource { verb, path: check.path.clone() };
    }
    let resource = match check.subresource.as_str() {
        "" => check.resource.clone(),
        below => format!("{}/{below}", check.resource),
    };
    AuthorizationAttributes::Resource {
        verb,
        group: check.group.clone(),
        resource,
        namespace: check.namespace.clone(),
        name: check.name.clone(),
    }
}

/// The resource of a write, whose verb is still open.
fn resource_check(write: &Attributes<'_>) -> AccessCheck {
    let text = |text: Option<&str>| text.unwrap_or_default().to_owned();
    AccessCheck {
        group: write.endpoint().group().to_owned(),
        resource: write.endpoint().plural().to_owned(),
        subresource: text(write.call.subresource.as_deref()),
        namespace: text(write.namespace()),
        name: write.name().to_owned(),
        ..AccessCheck::default()
    }
}

/// The namespace of a write, which has none at cluster scope.
fn namespace_object(context: AdmissionContext<'_>, write: &Attributes<'_>) -> Value {
    let namespace = write
        .call
        .namespace
        .as_deref()
        .and_then(|name| Some(context.storage.object("", "namespaces", &Key::new(None, name))?.value()));
    let Some(mut namespace) = namespace else { return Value::Null };
    meta::set(&mut namespace, "managedFields", Value::Null);
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": namespace["metadata"], "spec": namespace["spec"],
        "status": namespace["status"]})
}

/// The parameters of a binding: the policy is evaluated once for each. `None` is a policy without parameters.
pub(crate) fn params(
    context: AdmissionContext<'_>,
    policy: &Policy,
    binding: &Binding,
    namespace: Option<&str>,
) -> Result<Vec<Option<Value>>, String> {
    let (Some((api_version, kind)), Some(reference)) = (&policy.param_kind, &binding.params) else {
        return Ok(vec![None]);
    };
    let (group, version) = meta::split_api_version(api_version);
    let endpoint = context.storage.scheme.by_kind(group, version, kind).ok_or_else(|| {
        format!("failed to find resource referenced by paramKind: '{api_version}, Kind={kind}'")
    })?;
    let namespace = match (endpoint.resource.namespaced, reference.namespace.as_deref().or(namespace)) {
        (true, None) => {
            return Err(
                "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"
                    .into(),
            );
        }
        (true, some) => some,
        (false, _) if reference.namespace.is_some() => {
            return Err("paramRef.namespace must not be provided for a cluster-scoped `paramKind`".into());
        }
        (false, _) => None,
    };
    let table = endpoint.resource.table;
    let params: Vec<Value> = match &reference.objects {
        Parameter::Named(name) => {
            let param = context.storage.store.get(table, &Key::new(namespace, name));
            param.into_iter().map(|stored| stored.value()).collect()
        }
        Parameter::Selected(selector) => {
            let all = context.storage.store.objects(table, namespace);
            all.filter(|stored| selector.matches(|key| stored.label(key)))
                .map(|stored| stored.value())
                .collect()
        }
    };
    if params.is_empty() && reference.required {
        return Err("no params found for policy binding with `Deny` parameterNotFoundAction".into());
    }
    Ok(params.into_iter().map(Some).collect())
}
