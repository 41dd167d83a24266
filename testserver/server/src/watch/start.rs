//! Where a watch starts, and which objects it shows.

use super::{Filter, Start};
use crate::{
    object::selector::FieldSelector, route::ListOptions, scheme::Endpoint, status_error::StatusError,
    storage::Store,
};

/// Where a watch starts.
pub(crate) fn start(store: &Store, options: &ListOptions, stale: Option<u64>) -> Result<Start, StatusError> {
    let initial = options.initial_events == Some(true);
    match options.resource_version {
        // As on genuine servers, a watch from a future revision waits for it.
        Some(revision) if revision > 0 && !initial => Ok(Start::After(revision)),
        Some(revision) if revision > store.revision() => {
            Err(StatusError::too_large_resource_version(revision, store.revision()))
        }
        _ if options.initial_events == Some(false) => Ok(Start::After(store.revision())),
        // With the initial objects, bookmarks begin with that of their end, whether they were requested or came by the resourceVersion.
        _ => Ok(Start::Current { announce_end: options.bookmarks, at: stale }),
    }
}

/// The filter of a list or watch.
pub(crate) fn filter(
    endpoint: &Endpoint,
    namespace: Option<String>,
    options: &ListOptions,
) -> Result<Filter, StatusError> {
    let check =
        |field: &str| if endpoint.selects(field) { Ok(()) } else { Err(endpoint.refuses_field(field)) };
    let mut fields = FieldSelector::parse(&options.fields, check).map_err(StatusError::bad_request)?;
    fields = fields.reading(|field| endpoint.field_source(field));
    if let Some(equivalent) = endpoint.resource.equivalent {
        fields = fields.renamed(|field| equivalent.stored_path(field));
    }
    Ok(Filter { namespace, labels: options.labels.clone(), fields })
}
