use super::{Answer, Call, Content};
use crate::{failure::Failure, world::World};

pub(super) fn get(world: &World, call: &Call) -> Result<Answer, Failure> {
    if let Some(version) = call.query.get("resourceVersion") {
        let asked: u64 = version.parse().map_err(|_| Failure::unreadable_resource_version(version))?;
        if asked > world.store.revision() {
            return Err(Failure::too_large_resource_version(asked, world.store.revision()));
        }
    }
    if let Some(stale) = call.stale.filter(|stale| *stale < world.store.revision()) {
        let was = world.store.get_at(call.endpoint.resource.table, &call.key(), stale);
        let was = was.map_err(|old| {
            Failure::expired(format!("The resourceVersion is too old: {stale} ({})", old.oldest))
        })?;
        return Ok(Answer::ok(Content::Object(was.ok_or_else(|| call.not_found())?.clone())));
    }
    let stored =
        world.store.get(call.endpoint.resource.table, &call.key()).ok_or_else(|| call.not_found())?;
    Ok(Answer::ok(Content::Object(stored.clone())))
}
