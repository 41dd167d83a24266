//! Objects as the controllers read them: each version is decoded once, not at each step.

use std::{
    collections::HashMap,
    sync::{Arc, Weak},
};

use serde_json::Value;

use crate::storage::Stored;

/// Decoded objects by uid, with the versions that were decoded: those that a controller read last, of objects that exist.
#[derive(Debug)]
pub(super) struct Decoded<T>(HashMap<Box<str>, (Weak<Stored>, Arc<T>)>);

impl<T> Default for Decoded<T> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<T: From<Value>> Decoded<T> {
    /// Decodes a version unless it is the one that was decoded last. A snapshot may give two objects one uid: they take turns.
    pub(super) fn get(&mut self, stored: &Arc<Stored>) -> Arc<T> {
        if let Some((version, object)) = self.0.get(&stored.uid)
            && version.as_ptr() == Arc::as_ptr(stored)
        {
            return object.clone();
        }
        let object = Arc::new(T::from(stored.value()));
        self.0.insert(stored.uid.clone(), (Arc::downgrade(stored), object.clone()));
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
