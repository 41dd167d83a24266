use std::sync::Arc;

use parking_lot::Mutex;

use super::convert::convert;
use crate::{
    failure::Failure,
    registry::Endpoint,
    store::Stored,
    webhook::{self, Answers},
    world::World,
};

/// Stored objects as they are shown at an endpoint, in one question for all. Without a webhook they are what they were:
/// the name of the version is put on where they are written out.
pub(crate) async fn present(
    world: &Mutex<World>,
    endpoint: &Endpoint,
    objects: Vec<Arc<Stored>>,
) -> Result<Vec<Arc<Stored>>, Failure> {
    if let Some(twin) = endpoint.resource.twin {
        let api_version = endpoint.api_version();
        let shown = |object: &Arc<Stored>| {
            let value = twin.shown(object.value(), &api_version);
            Arc::new(Stored::preview(object.key.clone(), &value))
        };
        return Ok(objects.iter().map(shown).collect());
    }
    if objects.is_empty() || endpoint.version().storage || endpoint.resource.conversion.is_none() {
        return Ok(objects);
    }
    let to = endpoint.api_version();
    let mut answers = Answers::default();
    loop {
        let values = objects.iter().map(|object| object.value()).collect();
        let converted = convert(&world.lock(), &endpoint.resource, &answers, values, &to);
        let mut failure = match converted {
            Ok(converted) => {
                let shown =
                    |(object, value): (&Arc<Stored>, _)| Arc::new(Stored::preview(object.key.clone(), value));
                return Ok(objects.iter().zip(&converted).map(shown).collect());
            }
            Err(failure) => failure,
        };
        match failure.asks.take() {
            Some(inquiry) if answers.len() == 0 => {
                let answer = webhook::ask(&inquiry).await;
                answers.record(*inquiry, answer);
            }
            _ => return Err(failure),
        }
    }
}
