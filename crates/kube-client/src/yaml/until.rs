//! Waits for a state of one object.

use std::pin::pin;
use std::time::Duration;

use futures::TryStreamExt;
use kube_core::DynamicObject;
use kube_core::params::{ListParams, WatchParams};
use kube_core::watch::WatchEvent;

use crate::Result;
use crate::api::Api;

/// Watches the object `name` until `done` returns something for it, or for its absence.
///
/// A watch that ends, for whatever reason, is followed by a new list after a pause. A list that fails ends the wait: the client has tried again.
pub(super) async fn until<T>(
    api: &Api<DynamicObject>,
    name: &str,
    mut done: impl FnMut(Option<&DynamicObject>) -> Option<T>,
) -> Result<T> {
    let field = format!("metadata.name={name}");
    loop {
        let list = api.list(&ListParams::default().fields(&field)).await?;
        if let Some(found) = done(list.items.first()) {
            return Ok(found);
        }
        let version = list.metadata.resource_version.unwrap_or_default();
        // An error, such as an expired version, is found or overcome by the next list.
        if let Ok(events) = api.watch(&WatchParams::default().fields(&field), &version).await {
            let mut events = pin!(events);
            while let Ok(Some(event)) = events.try_next().await {
                let found = match event {
                    WatchEvent::Added(object) | WatchEvent::Modified(object) => done(Some(&object)),
                    WatchEvent::Deleted(_) => done(None),
                    WatchEvent::Bookmark(_) => None,
                    WatchEvent::Error(_) => break,
                };
                if let Some(found) = found {
                    return Ok(found);
                }
            }
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Between a watch that ended and the next list.
const PAUSE: Duration = Duration::from_secs(1);
