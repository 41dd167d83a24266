//! Objects as the controllers read them: each version is decoded once, not at each step.

use std::{collections::HashMap, sync::Arc};

use serde_json::Value;

use crate::storage::Stored;

/// Decoded objects by uid, with their revisions. The versions that a controller read last, of objects that exist.
#[derive(Debug)]
pub(super) struct Decoded<T>(HashMap<Box<str>, (u64, Arc<T>)>);

impl<T> Default for Decoded<T> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<T: From<Value>> Decoded<T> {
    pub(super) fn get(&mut self, stored: &Stored) -> Arc<T> {
        if let Some((revision, object)) = self.0.get(&stored.uid)
            && *revision == stored.revision
        {
            return object.clone();
        }
        let object = Arc::new(T::from(stored.value()));
        self.0.insert(stored.uid.clone(), (stored.revision, object.clone()));
        object
    }

    pub(super) fn all(&mut self, stored: &[Arc<Stored>]) -> Vec<Arc<T>> {
        stored.iter().map(|stored| self.get(stored)).collect()
    }

    /// Drops a removed object.
    pub(super) fn forget(&mut self, last: &Stored) {
        self.0.remove(&last.uid);
    }
}
