//! Validation of built-in kinds. Decoding has checked the types of their fields.

use super::{
    immutable,
    kinds::{self, Write},
    types,
};
use crate::{schema::ErrorList, strategy::WritePart};

pub(super) fn validate(write: &Write<'_>, errors: &mut ErrorList) {
    let &Write { endpoint, part, object, old } = write;
    kinds::validate(write, errors);
    // The rules of definitions cover all their types.
    if let Some(ty) = endpoint.go_type().filter(|_| !endpoint.resource.is_definition()) {
        errors.extend(types::validate(ty, part, object, old));
    }
    kinds::validate_mounts(write, errors);
    if let Some(old) = old.filter(|_| part == WritePart::Main) {
        errors.extend(immutable::validate(endpoint, old, object));
    }
}
