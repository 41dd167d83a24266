use serde_json::Value;

use crate::{failure::Failure, meta, registry::crd, world::World};

const GROUP: &str = "apiextensions.k8s.io";
const KIND: &str = "CustomResourceDefinition";

/// Completes and checks a CRD about to be written, and accepts its names, so that it is served from that moment.
pub(super) fn admit(world: &World, definition: &mut Value, old: Option<&Value>) -> Result<(), Failure> {
    crd::complete(definition);
    let refused = |errors: &[_]| Failure::invalid(GROUP, KIND, meta::name(definition), errors);
    let mut errors = crd::validate(definition);
    if let Some(old) = old {
        errors.extend(crd::validate_update(old, definition));
    }
    if !errors.is_empty() {
        return Err(refused(&errors));
    }
    crd::check_schemas(definition).map_err(|errors| refused(&errors))?;
    let now = world.now();
    crd::accept(definition, &world.registry, &now);
    Ok(())
}
