use std::sync::Arc;

use parking_lot::Mutex;

use super::convert::convert;
use crate::{
    cluster::ClusterState,
    scheme::Endpoint,
    status_error::StatusError,
    store::Stored,
    webhook::{self, WebhookResponses},
};

/// Converts stored objects to the version of an endpoint, with one webhook call for all. Without a webhook they are unchanged: the encoder writes the version name.
pub(crate) async fn to_requested_version(
    cluster: &Mutex<ClusterState>,
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
    if objects.is_empty() || endpoint.version().storage || endpoint.resource.conversion.is_none() {
        return Ok(objects);
    }
    let to = endpoint.api_version();
    let mut responses = WebhookResponses::default();
    loop {
        let values = objects.iter().map(|object| object.value()).collect();
        let converted = convert(&cluster.lock(), &endpoint.resource, &responses, values, &to);
        let mut failure = match converted {
            Ok(converted) => {
                let shown =
                    |(object, value): (&Arc<Stored>, _)| Arc::new(Stored::preview(object.key.clone(), value));
                return Ok(objects.iter().zip(&converted).map(shown).collect());
            }
            Err(failure) => failure,
        };
        match failure.webhook_call.take() {
            Some(call) if responses.len() == 0 => {
                let response = webhook::send(&call).await;
                responses.record(*call, response);
            }
            _ => return Err(failure),
        }
    }
}
