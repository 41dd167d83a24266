//! One object whose JSON was kept.

use kube_core::error_boundary::InvalidObject;
use kube_core::object::DefaultTypes;
use serde::de::DeserializeOwned;

use super::catch_panic::catch_panic;
use super::invalid::{invalid_object, read_metadata};
use super::prune::Prune;
use super::reader::read;

/// Decodes an object from the JSON in which a list or a watch has sent it. For the caches of `kube-runtime`.
///
/// # Errors
/// If it does not match `K`, with the field.
pub fn decode_object<K: DeserializeOwned>(
    json: &[u8],
    types: &DefaultTypes,
    prune: &Prune,
) -> Result<K, Box<InvalidObject>> {
    catch_panic(|| read(json, &[], prune, types.seed::<K>()))
        .map_err(|err| Box::new(invalid_object(json, &err, None, read_metadata)))
}
