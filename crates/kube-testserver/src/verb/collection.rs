use std::sync::Arc;

use super::{Answer, Call, Content, body, delete, list};
use crate::{
    failure::Failure,
    route::{DeleteOptions, ListOptions},
    store::Stored,
    world::World,
};

/// DELETE on a collection: everything that the selectors match. Answers with what was deleted.
pub(super) fn delete_all(world: &mut World, call: &Call) -> Result<Answer, Failure> {
    let options = DeleteOptions::parse(&call.query, &body::options(call)?)?;
    let filter = list::filter(&call.endpoint, call.namespace.clone(), &ListOptions::parse(&call.query)?)?;
    let resource = &call.endpoint.resource;
    let doomed: Vec<Arc<Stored>> = world
        .store
        .objects(resource.table, call.namespace.as_deref())
        .filter(|stored| filter.matches(stored))
        .cloned()
        .collect();
    let mut warnings = Vec::new();
    for object in &doomed {
        warnings.extend(delete::review(world, call, object, options.dry_run)?);
    }
    if !options.dry_run {
        for object in &doomed {
            // One that is gone by now went as a consequence of another.
            world.delete(resource, &object.key, options.propagation);
        }
        world.settle();
    }
    let revision = world.store.revision();
    let list = Content::List { objects: doomed, revision, more: list::no_more(call) };
    Ok(Answer { warnings, ..Answer::ok(list) })
}
