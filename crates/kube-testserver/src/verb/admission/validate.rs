use super::{Attributes, review::heard};
use crate::{failure::Failure, world::World};

/// Asks the validating webhooks whether the write may be. The first in order that says no is heard.
pub(in crate::verb) fn validate(
    world: &World,
    write: &Attributes<'_>,
    warnings: &mut Vec<String>,
) -> Result<(), Failure> {
    for hook in &world.hooks.validating {
        let Some((verdict, _)) =
            heard(world, hook, write, 0, false).map_err(|failure| failure.warning(warnings))?
        else {
            continue;
        };
        warnings.extend(verdict.warnings.iter().cloned());
        if !verdict.allowed {
            return Err(verdict.refusal(&hook.name).warning(warnings));
        }
    }
    Ok(())
}
