//! Decodes the items of a list, and objects whose JSON was kept.

use kube_core::DeserializeGuard;
use kube_core::error_boundary::InvalidObject;
use kube_core::object::DefaultTypes;
use serde::de::DeserializeOwned;

use super::explain::invalid_object;
use super::read::{HeapReserve, Prune, catch_panic, read};
use super::split::ArrayLengths;

/// Decodes items, which have the type that their list implies.
#[derive(Clone, Debug)]
pub(super) struct ItemDecoder {
    defaults: DefaultTypes,
    /// The kind of the items, for errors.
    kind: Option<String>,
    prune: Prune,
    heap: HeapReserve,
}

impl ItemDecoder {
    pub(super) fn new(defaults: DefaultTypes, kind: Option<String>, prune: Prune) -> Self {
        Self { defaults, kind, prune, heap: HeapReserve::default() }
    }

    pub(super) fn decode<K>(&mut self, json: &[u8], lengths: &ArrayLengths) -> Result<K, Box<InvalidObject>>
    where
        K: DeserializeOwned,
    {
        self.heap.reserve_for(json.len());
        let decoded = read(json, lengths, &self.prune, self.defaults.seed());
        decoded.map_err(|err| Box::new(invalid_object(json, &err, self.kind.as_deref())))
    }

    /// A `Deserialize` that panics is an error of its item.
    pub(super) fn decode_guarded<K>(&mut self, json: &[u8], lengths: &ArrayLengths) -> DeserializeGuard<K>
    where
        K: DeserializeOwned,
    {
        self.heap.reserve_for(json.len());
        let decoded = catch_panic(|| read(json, lengths, &self.prune, self.defaults.seed()));
        DeserializeGuard(decoded.map_err(|err| invalid_object(json, &err, self.kind.as_deref())))
    }
}

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
        .map_err(|err| Box::new(invalid_object(json, &err, None)))
}
