//! One write before the webhooks.

use serde_json::{Value, json};

use super::{Attributes, matching};
use crate::{
    admission::{Hook, Verdict, unanswered},
    failure::Failure,
    ids,
    registry::Endpoint,
    webhook::Inquiry,
    world::World,
};

/// What a hook says to a write, or `None` when it was not asked, or gave no answer and need not.
pub(super) fn heard(
    world: &World,
    hook: &Hook,
    write: &Attributes<'_>,
    round: usize,
    mutating: bool,
) -> Result<Option<(Verdict, Endpoint)>, Failure> {
    if write.call.answers.are_closed() {
        return Ok(None);
    }
    let endpoint = match matching::wanted(world, hook, write) {
        Ok(None) => return Ok(None),
        Ok(Some(endpoint)) => endpoint,
        Err(_) if !hook.must_answer => return Ok(None),
        Err(why) => return Err(unanswered(&hook.name, &why)),
    };
    let mut request = write.request(&endpoint);
    let key =
        json!({"hook": hook.id, "round": round, "mutating": mutating, "request": lasting(request.clone())});
    let Some(answer) = write.call.answers.find(&key) else {
        request["uid"] = ids::uid().into();
        let seconds = hook.timeout.as_secs();
        return Err(Failure::asking(Inquiry {
            target: world.webhook_target(&hook.client).map(|target| target.within(seconds)),
            timeout: hook.timeout,
            key,
            body: json!({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request}),
        }));
    };
    let verdict = match answer {
        Ok(exchange) => Verdict::read(&exchange["answer"], &exchange["uid"], mutating),
        Err(why) => Err(why.clone()),
    };
    match verdict {
        Ok(verdict) => Ok(Some((verdict, endpoint))),
        Err(_) if !hook.must_answer => Ok(None),
        Err(why) => Err(unanswered(&hook.name, &why)),
    }
}

/// A request without what differs from one run of its verb to the next.
fn lasting(mut request: Value) -> Value {
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
