//! Converts the objects of a response, calling the conversion webhook when needed.

use std::sync::Arc;

use parking_lot::Mutex;

use super::convert::convert;
use crate::{
    scheme::Endpoint,
    status_error::StatusError,
    storage::{Storage, Stored},
    webhook::{self, Interruption, WebhookResponses},
};

/// Converts stored objects to the version of an endpoint, with at most one webhook call for all. Those that are stored in this version are
/// shared, not copied.
pub(crate) async fn to_requested_version<S: AsRef<Storage>>(
    state: &Mutex<S>,
    endpoint: &Endpoint,
    objects: Vec<Arc<Stored>>,
) -> Result<Vec<Arc<Stored>>, StatusError> {
    if let Some(equivalent) = endpoint.resource.equivalent {
        let api_version = endpoint.api_version();
        let shown = |object: &Arc<Stored>| {
            let value = equivalent.convert_from_storage(object.value(), &api_version);
            Arc::new(Stored::preview(object.key.clone(), &value))
        };
        return Ok(objects.iter().map(shown).collect());
    }
    let to = endpoint.api_version();
    if !endpoint.resource.custom || objects.iter().all(|object| object.is_version(&to)) {
        return Ok(objects);
    }
    let mut responses = WebhookResponses::default();
    loop {
        let values = objects.iter().map(|object| object.value()).collect();
        let converted = convert(state.lock().as_ref(), &endpoint.resource, &responses, values, &to);
        let call = match converted {
            Ok(converted) => {
                let shown = |(object, value): (&Arc<Stored>, _)| match object.is_version(&to) {
                    true => object.clone(),
                    false => Arc::new(Stored::preview(object.key.clone(), value)),
                };
                return Ok(objects.iter().zip(&converted).map(shown).collect());
            }
            Err(Interruption::Refused(error)) => return Err(error),
            Err(Interruption::NeedsWebhook(call)) => call,
        };
        if responses.len() > 0 {
            return Err(StatusError::internal("the conversion asks for a second webhook call"));
        }
        let response = webhook::send(&call).await;
        responses.record(*call, response);
    }
}
