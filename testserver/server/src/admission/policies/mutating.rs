//! Mutating admission policies: their changes of an object.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{
    scope::{self, PolicyScope},
    validating::is_bound,
};
use crate::{
    admission::{AdmissionContext, Attributes, Binding, Mutation, Policy, matching::matched_version},
    apply,
    crd::conversion,
    patch,
    scheme::Endpoint,
    status_error::{Cause, StatusError},
    webhook::Interruption,
};

/// The mutating policies of one write, by their index.
#[derive(Debug, Default)]
pub(crate) struct MutatingPolicies {
    /// Those with `reinvocationPolicy: IfNeeded` that have been evaluated.
    evaluated: BTreeSet<usize>,
    /// Those of them after which the object changed.
    outdated: BTreeSet<usize>,
}

impl MutatingPolicies {
    /// Evaluates all policies in order. Returns whether the object changed.
    pub(crate) fn run(
        &mut self,
        context: AdmissionContext<'_>,
        write: &Attributes<'_>,
        object: &mut Value,
    ) -> Result<bool, Interruption> {
        let all = 0..context.control.policies.mutating.len();
        self.each(context, write, object, all.collect())
    }

    /// Evaluates the policies again after which the object changed, `changed` being that a webhook changed it.
    pub(crate) fn run_again(
        &mut self,
        context: AdmissionContext<'_>,
        write: &Attributes<'_>,
        object: &mut Value,
        changed: bool,
    ) -> Result<bool, Interruption> {
        if changed {
            self.outdated.append(&mut self.evaluated);
        }
        let outdated = std::mem::take(&mut self.outdated);
        self.each(context, write, object, outdated)
    }

    fn each(
        &mut self,
        context: AdmissionContext<'_>,
        write: &Attributes<'_>,
        object: &mut Value,
        indexes: BTreeSet<usize>,
    ) -> Result<bool, Interruption> {
        let mut changed = false;
        for i in indexes {
            // A write of the configuration may have removed it while a webhook was called.
            let Some(policy) = context.control.policies.mutating.get(i) else { continue };
            let before = object.clone();
            for binding in policy.bindings.iter().filter(|binding| is_bound(context, binding, write)) {
                bound(context, policy, binding, write, object)?;
            }
            if *object != before {
                changed = true;
                self.outdated.append(&mut self.evaluated);
            }
            if policy.reinvoke {
                self.evaluated.insert(i);
            }
        }
        Ok(changed)
    }
}

/// Applies the mutations of a policy, once for each parameter.
fn bound(
    context: AdmissionContext<'_>,
    policy: &Policy,
    binding: &Binding,
    write: &Attributes<'_>,
    object: &mut Value,
) -> Result<(), Interruption> {
    let failed = |why: String| match policy.fail_closed {
        true => Err(refusal(
            write,
            &format!("policy '{}' with binding '{}' denied request: {why}", policy.name, binding.name),
        )),
        false => Ok(()),
    };
    let seen = |object: &Value| {
        let endpoint =
            matched_version(context, &policy.resources, &Attributes { object: Some(object), ..*write })?;
        Some(
            Attributes { object: Some(object), ..*write }
                .request(context, &endpoint)
                .map(|request| (endpoint, request)),
        )
    };
    let params = match scope::params(context, policy, binding, write.namespace()) {
        Ok(params) => params,
        Err(why) => return Ok(failed(format!("failed to configure binding: {why}"))?),
    };
    for param in params {
        for mutation in &policy.mutations {
            let current = object.clone();
            let Some(request) = seen(&current) else { return Ok(()) };
            let (endpoint, request) = request?;
            let scope = PolicyScope::new(context, policy, write, &request, param.as_ref());
            match scope.conditions_hold(policy) {
                Ok(true) => {}
                Ok(false) => break,
                Err(why) => {
                    failed(why)?;
                    break;
                }
            }
            match mutated(&scope, mutation, &endpoint, &request["object"]) {
                Ok(result) => {
                    let responses = &write.call.webhook_responses;
                    *object = conversion::between_versions(
                        context.storage,
                        responses,
                        &endpoint,
                        write.endpoint(),
                        result,
                    )?;
                }
                Err(why) => failed(why)?,
            }
        }
    }
    Ok(())
}

/// The object after one mutation.
fn mutated(
    scope: &PolicyScope,
    mutation: &Mutation,
    endpoint: &Endpoint,
    object: &Value,
) -> Result<Value, String> {
    match mutation {
        Mutation::ApplyConfiguration(expression) => {
            let configuration = scope.json(expression)?;
            if !configuration.is_object() {
                return Err("the apply configuration is not an Object".into());
            }
            apply::merged(endpoint.schema(), object, &configuration)
        }
        Mutation::JsonPatch(expression) => {
            let operations = scope.json(expression)?;
            let mut patched = object.clone();
            patch::json::apply(&mut patched, &operations).map_err(|error| format!("JSON Patch: {error}"))?;
            match patched.is_object() {
                true => Ok(patched),
                false => Err("JSON Patch: the result is not an object".into()),
            }
        }
    }
}

/// The response to a write that a policy could not change.
fn refusal(write: &Attributes<'_>, message: &str) -> StatusError {
    let endpoint = write.endpoint();
    let mut refusal = StatusError::forbidden(endpoint.group(), endpoint.plural(), write.name(), "");
    refusal.message = message.to_owned();
    refusal.reason = "Invalid".into();
    if let Some(details) = &mut refusal.details {
        details.causes.push(Cause { message: message.to_owned(), ..Cause::default() });
    }
    refusal
}
