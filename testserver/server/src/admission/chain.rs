//! Runs admission for one write, in the order of a cluster.

use std::collections::BTreeSet;

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::Value;

use super::{AdmissionContext, AdmissionPlugin, Attributes, MutatingPolicies, call_webhook, policies};
use crate::{
    crd::conversion,
    patch::{self, PatchError},
    status_error::StatusError,
    webhook::Interruption,
};

/// Evaluates the mutating policies, then calls the mutating webhooks. Policies with reinvocation are evaluated again when the object
/// changed after them. Returns whether the object changed.
///
/// `object` is separate from the rest of the write because it changes; a deletion has none.
pub(crate) fn mutate(
    context: AdmissionContext<'_>,
    write: Attributes<'_>,
    mut object: Option<&mut Value>,
    warnings: &mut Vec<String>,
) -> Result<bool, Interruption> {
    let mut policies = MutatingPolicies::default();
    let mut changed = match object.as_deref_mut() {
        Some(object) => policies.run(context, &write, object).map_err(|f| f.warning(warnings))?,
        None => false,
    };
    let by_webhooks = mutate_by_webhooks(context, write, object.as_deref_mut(), warnings)?;
    if let Some(object) = object {
        changed |=
            policies.run_again(context, &write, object, by_webhooks).map_err(|f| f.warning(warnings))?;
    }
    Ok(changed || by_webhooks)
}

/// Calls the mutating webhooks in order. A webhook with reinvocation is called again when a later one changed the object. Returns whether
/// the object changed.
fn mutate_by_webhooks(
    context: AdmissionContext<'_>,
    write: Attributes<'_>,
    mut object: Option<&mut Value>,
    warnings: &mut Vec<String>,
) -> Result<bool, Interruption> {
    let hooks = &context.control.webhooks.mutating;
    let mut changed = false;
    let (mut called, mut reinvoked) = (BTreeSet::new(), BTreeSet::new());
    if !context.control.admits_by(AdmissionPlugin::MutatingAdmissionWebhook) {
        return Ok(false);
    }
    for round in 0..2 {
        for (i, hook) in hooks.iter().enumerate() {
            if round > 0 && !reinvoked.contains(&i) {
                continue;
            }
            let seen = object.as_deref().cloned();
            let current = Attributes { object: seen.as_ref(), ..write };
            let Some((response, endpoint)) =
                call_webhook(context, hook, &current, round, true).map_err(|f| f.warning(warnings))?
            else {
                continue;
            };
            warnings.extend(response.warnings.iter().cloned());
            if !response.allowed {
                return Err(response.refusal(&hook.name).warning(warnings).into());
            }
            if let (Some(patch), Some(object)) = (&response.patch, object.as_deref_mut()) {
                let responses = &write.call.webhook_responses;
                let convert = |from, to, object| {
                    conversion::between_versions(context.storage, responses, from, to, object)
                };
                let mut converted = convert(write.endpoint(), &endpoint, object.take())?;
                apply(&mut converted, patch).map_err(StatusError::internal)?;
                *object = convert(&endpoint, write.endpoint(), converted)?;
            }
            if object.as_deref() != seen.as_ref() {
                changed = true;
                reinvoked.append(&mut called);
            }
            if hook.reinvoke {
                called.insert(i);
            }
        }
        if reinvoked.is_empty() {
            break;
        }
    }
    Ok(changed)
}

/// Runs the built-in plugins, the validating policies, the validating webhooks, and last the quotas. The first refusal in order is
/// returned.
pub(crate) fn validate(
    context: AdmissionContext<'_>,
    write: &Attributes<'_>,
    warnings: &mut Vec<String>,
) -> Result<(), Interruption> {
    if let Some(object) = write.object {
        context.validate_by_plugins(&write.write(), object).map_err(|failure| failure.warning(warnings))?;
    }
    policies::validate(context, write, warnings).map_err(|failure| failure.warning(warnings))?;
    let hooks = &context.control.webhooks.validating;
    for hook in
        hooks.iter().filter(|_| context.control.admits_by(AdmissionPlugin::ValidatingAdmissionWebhook))
    {
        let Some((response, _)) =
            call_webhook(context, hook, write, 0, false).map_err(|failure| failure.warning(warnings))?
        else {
            continue;
        };
        warnings.extend(response.warnings.iter().cloned());
        if !response.allowed {
            return Err(response.refusal(&hook.name).warning(warnings).into());
        }
    }
    if let Some(object) = write.object {
        context.validate_usage(&write.write(), object).map_err(|failure| failure.warning(warnings))?;
    }
    Ok(())
}

/// Applies a patch to the object that the webhook saw.
fn apply(object: &mut Value, patch: &str) -> Result<(), String> {
    let bytes = BASE64_STANDARD.decode(patch).map_err(|why| format!("the patch is not base64: {why}"))?;
    let changes: Value =
        serde_json::from_slice(&bytes).map_err(|why| format!("the patch is not JSON: {why}"))?;
    patch::json::apply(object, &changes).map_err(|error| match error {
        PatchError::NotApplicable(why) => why,
        other => other.to_string(),
    })?;
    if !object.is_object() {
        return Err("the patched value is not an object".into());
    }
    Ok(())
}
