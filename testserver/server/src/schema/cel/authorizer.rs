//! The variable `authorizer` of admission policies: `authorizer.group('').resource('pods').namespace('a').check('get').allowed()`.

use std::{fmt, sync::Arc};

use kube_cel::cel::{Context, ExecutionError, Value, extractors::This, objects::Opaque};

use crate::schema::{AccessCheck, Authorize};

/// A check that is not complete yet.
#[derive(Clone)]
struct Authorizer {
    authorize: Arc<Authorize>,
    check: AccessCheck,
}

/// The result of a check.
#[derive(Debug, PartialEq, Eq)]
struct Decision(Option<String>);

type Step = Result<Value, ExecutionError>;
/// Sets a part of a check.
type Set = fn(&mut AccessCheck, String);

/// The value of the variable, with what is known of the check.
pub(crate) fn authorizer(authorize: Arc<Authorize>, check: AccessCheck) -> Value {
    Value::Opaque(Arc::new(Authorizer { authorize, check }))
}

/// Adds the functions of authorizers and their decisions.
pub(super) fn register(context: &mut Context<'_>) {
    let parts: [(&str, Set); 6] = [
        ("path", |check, text| check.path = text),
        ("group", |check, text| check.group = text),
        ("resource", |check, text| check.resource = text),
        ("subresource", |check, text| check.subresource = text),
        ("namespace", |check, text| check.namespace = text),
        ("name", |check, text| check.name = text),
    ];
    for (name, set) in parts {
        context.add_function(name, move |This(this): This<Value>, text: Arc<String>| {
            step(&this, |check| set(check, text.to_string()))
        });
    }
    context.add_function(
        "serviceAccount",
        |This(this): This<Value>, namespace: Arc<String>, name: Arc<String>| {
            step(&this, |check| check.service_account = Some((namespace.to_string(), name.to_string())))
        },
    );
    context.add_function("check", |This(this): This<Value>, verb: Arc<String>| -> Step {
        let authorizer = opaque::<Authorizer>(&this)?;
        let check = AccessCheck { verb: verb.to_string(), ..authorizer.check.clone() };
        Ok(Value::Opaque(Arc::new(Decision((authorizer.authorize)(&check)))))
    });
    context.add_function("allowed", |This(this): This<Value>| -> Step {
        Ok(Value::Bool(opaque::<Decision>(&this)?.0.is_some()))
    });
    context.add_function("reason", |This(this): This<Value>| -> Step {
        Ok(Value::String(Arc::new(opaque::<Decision>(&this)?.0.clone().unwrap_or_default())))
    });
    // RBAC always decides.
    context.add_function("errored", |This(this): This<Value>| -> Step {
        opaque::<Decision>(&this).map(|_| Value::Bool(false))
    });
    context.add_function("error", |This(this): This<Value>| -> Step {
        opaque::<Decision>(&this).map(|_| Value::String(Arc::default()))
    });
}

/// The authorizer with one more part of the check.
fn step(this: &Value, set: impl FnOnce(&mut AccessCheck)) -> Step {
    let mut next = opaque::<Authorizer>(this)?.clone();
    set(&mut next.check);
    Ok(Value::Opaque(Arc::new(next)))
}

fn opaque<T: 'static>(value: &Value) -> Result<&T, ExecutionError> {
    match value {
        Value::Opaque(opaque) => opaque.downcast_ref::<T>().ok_or(ExecutionError::NoSuchOverload),
        _ => Err(ExecutionError::NoSuchOverload),
    }
}

impl Opaque for Authorizer {
    fn runtime_type_name(&self) -> &str {
        "kubernetes.authorization.Authorizer"
    }
}

impl Opaque for Decision {
    fn runtime_type_name(&self) -> &str {
        "kubernetes.authorization.Decision"
    }
}

impl fmt::Debug for Authorizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authorizer").field("check", &self.check).finish_non_exhaustive()
    }
}

impl PartialEq for Authorizer {
    fn eq(&self, other: &Self) -> bool {
        self.check == other.check
    }
}

impl Eq for Authorizer {}
