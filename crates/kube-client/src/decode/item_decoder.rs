//! Decodes the items of a list.

use kube_core::DeserializeGuard;
use kube_core::error_boundary::InvalidObject;
use kube_core::object::DefaultTypes;
use serde::de::DeserializeOwned;

use super::array_lengths::ArrayLengths;
use super::catch_panic::catch_panic;
use super::heap_room::HeapRoom;
use super::invalid::{invalid_object, read_metadata};
use super::prune::Prune;
use super::reader::read;

/// Decodes items, which have the type that their list implies.
#[derive(Debug)]
pub(super) struct ItemDecoder {
    defaults: DefaultTypes,
    kind: Option<String>,
    prune: Prune,
    room: HeapRoom,
}

impl ItemDecoder {
    /// `kind` is that of the items, for errors.
    pub(super) fn new(defaults: DefaultTypes, kind: Option<String>, prune: Prune) -> Self {
        Self { defaults, kind, prune, room: HeapRoom::default() }
    }

    /// One for another thread.
    pub(super) fn another(&self) -> Self {
        Self::new(self.defaults.clone(), self.kind.clone(), self.prune.clone())
    }

    pub(super) fn decode<K>(&mut self, json: &[u8], lengths: &ArrayLengths) -> Result<K, Box<InvalidObject>>
    where
        K: DeserializeOwned,
    {
        self.room.before(json.len());
        let decoded = read(json, lengths, &self.prune, self.defaults.seed());
        decoded.map_err(|err| Box::new(invalid_object(json, &err, self.kind.as_deref(), read_metadata)))
    }

    /// A `Deserialize` that panics is an error of its item.
    pub(super) fn decode_guarded<K>(&mut self, json: &[u8], lengths: &ArrayLengths) -> DeserializeGuard<K>
    where
        K: DeserializeOwned,
    {
        self.room.before(json.len());
        let decoded = catch_panic(|| read(json, lengths, &self.prune, self.defaults.seed()));
        DeserializeGuard(
            decoded.map_err(|err| invalid_object(json, &err, self.kind.as_deref(), read_metadata)),
        )
    }
}
