//! Converts the objects of a response, calling the conversion webhook when needed.

use std::sync::Arc;

use parking_lot::Mutex;

use super::{Unconverted, convert::convert};
use crate::{
    backend::Backends,
    scheme::Endpoint,
    storage::{Storage, Stored},
    webhook::{self, WebhookResponses},
};

/// Converts stored objects to the version of an endpoint, with at most one webhook call for all. Those that are stored in this version are
/// shared, not copied.
pub(crate) async fn to_requested_version<S: AsRef<Storage> + AsRef<Backends>>(
    state: &Mutex<S>,
    endpoint: &Endpoint,
    objects: &[Arc<Stored>],
) -> Result<Vec<Arc<Stored>>, Unconverted> {
    let mut responses = WebhookResponses::default();
    loop {
        let call = match in_requested_version(
            AsRef::<Storage>::as_ref(&*state.lock()),
            endpoint,
            &responses,
            objects,
        ) {
            Err(Unconverted::NeedsWebhook(call)) => call,
            converted => return converted,
        };
        if responses.len() > 0 {
            let why = "the conversion asks for a second webhook call".into();
            return Err(Unconverted::Failed { at: None, why });
        }
        let backends: Backends = AsRef::<Backends>::as_ref(&*state.lock()).clone();
        let response = webhook::send(&call, &backends).await;
        responses.record(*call, response);
    }
}

/// The same, with the responses so far.
pub(crate) fn in_requested_version(
    storage: &Storage,
    endpoint: &Endpoint,
    responses: &WebhookResponses,
    objects: &[Arc<Stored>],
) -> Result<Vec<Arc<Stored>>, Unconverted> {
    let to = endpoint.api_version();
    if let Some(equivalent) = endpoint.resource.equivalent {
        let in_version = |object: &Arc<Stored>| {
            let value = equivalent.convert_from_storage(object.value(), &to);
            Arc::new(Stored::preview(object.key.clone(), &value))
        };
        return Ok(objects.iter().map(in_version).collect());
    }
    if !endpoint.resource.custom || objects.iter().all(|object| object.is_version(&to)) {
        return Ok(objects.to_vec());
    }
    let values = objects.iter().map(|object| object.value()).collect();
    let converted = convert(storage, &endpoint.resource, responses, values, &to)?;
    let in_version = |(object, value): (&Arc<Stored>, _)| match object.is_version(&to) {
        true => object.clone(),
        false => Arc::new(Stored::preview(object.key.clone(), value)),
    };
    Ok(objects.iter().zip(&converted).map(in_version).collect())
}
