//! The call of one webhook for one write.

use serde_json::{Value, json};

use crate::{
    admission::{
        AdmissionContext, AdmissionResponse, Attributes, Webhook, call_failed,
        matching::{self, MatchError},
    },
    ids,
    scheme::Endpoint,
    webhook::{Address, Interruption, WebhookCall},
};

/// The response of a webhook to a write, or `None` when it does not match, or failed and its `failurePolicy` is `Ignore`.
pub(crate) fn call_webhook(
    context: AdmissionContext<'_>,
    hook: &Webhook,
    write: &Attributes<'_>,
    round: usize,
    mutating: bool,
) -> Result<Option<(AdmissionResponse, Endpoint)>, Interruption> {
    if write.call.webhook_responses.are_disabled() {
        return Ok(None);
    }
    let (endpoint, mut request) = match matching::webhook_request(context, hook, write) {
        Ok(None) => return Ok(None),
        Ok(Some(matched)) => matched,
        Err(MatchError::Conversion(failure)) => return Err(failure),
        Err(MatchError::Condition(_)) if !hook.fail_closed => return Ok(None),
        Err(MatchError::Condition(why)) => return Err(call_failed(&hook.name, &why).into()),
    };
    let key = json!({"hook": hook.id, "round": round, "mutating": mutating, "request": without_volatile_fields(request.clone())});
    let Some(response) = write.call.webhook_responses.find(&key) else {
        request["uid"] = ids::uid().into();
        let seconds = hook.timeout.as_secs();
        return Err(Interruption::from(WebhookCall {
            address: Address::of(context.storage, &hook.client).within(seconds),
            timeout: hook.timeout,
            key,
            body: json!({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request}),
        }));
    };
    let response = match response {
        Ok(exchange) => AdmissionResponse::read(&exchange["response"], &exchange["uid"], mutating),
        Err(why) => Err(why.clone()),
    };
    match response {
        Ok(response) => Ok(Some((response, endpoint))),
        Err(_) if !hook.fail_closed => Ok(None),
        Err(why) => Err(call_failed(&hook.name, &why).into()),
    }
}

/// The request without fields that differ between runs of the handler.
fn without_volatile_fields(mut request: Value) -> Value {
    for object in ["object", "oldObject"] {
        if let Some(metadata) = request.get_mut(object).and_then(|object| object.get_mut("metadata"))
            && let Some(metadata) = metadata.as_object_mut()
        {
            for field in ["managedFields", "creationTimestamp"] {
                metadata.remove(field);
            }
        }
    }
    request
}
