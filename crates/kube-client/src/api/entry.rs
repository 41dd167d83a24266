//! [`Entry`]: read an object that may or may not exist, change it, and write it back.

use std::fmt::Debug;

use kube_core::Resource;
use kube_core::params::PostParams;
use serde::Serialize;
use serde::de::DeserializeOwned;
use thiserror::Error;

use super::Api;
use crate::chain::ErrorChain;
use crate::client::Prune;
use crate::error::Error as CallError;

impl<K: Resource + Clone + DeserializeOwned + Debug> Api<K> {
    /// Reads the object `name`, which need not exist. [`OccupiedEntry::commit`] writes changes.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_client::api::PostParams;
    /// use kube_client::{Api, Client};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let client = Client::new(kube_testserver::ApiServer::new(), "default");
    ///
    /// let maps: Api<ConfigMap> = Api::default_namespaced(client);
    /// for color in ["blue", "red"] {
    ///     maps.entry("settings")
    ///         .await?
    ///         .or_insert(Default::default)
    ///         .and_modify(|map| drop(map.data.get_or_insert_default().insert("color".into(), color.into())))
    ///         .commit(&PostParams::default())
    ///         .await?;
    /// }
    /// assert_eq!(maps.get("settings").await?.data.unwrap_or_default()["color"], "red");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Api::get_opt`].
    pub async fn entry<'a>(&'a self, name: &'a str) -> crate::Result<Entry<'a, K>> {
        // Whole, because it may be written back.
        let whole = self.clone().prune(Prune::default());
        Ok(match whole.get_opt(name).await? {
            Some(object) => Entry::Occupied(OccupiedEntry { api: self, name, object, state: State::Stored }),
            None => Entry::Vacant(VacantEntry { api: self, name }),
        })
    }
}

/// An object that may or may not exist.
#[derive(Debug)]
pub enum Entry<'a, K> {
    /// The object exists.
    Occupied(OccupiedEntry<'a, K>),
    /// The object does not exist.
    Vacant(VacantEntry<'a, K>),
}

impl<'a, K> Entry<'a, K> {
    /// The object, if it exists.
    pub fn get(&self) -> Option<&K> {
        match self {
            Self::Occupied(entry) => Some(entry.get()),
            Self::Vacant(_) => None,
        }
    }

    /// The object to change, if it exists.
    pub fn get_mut(&mut self) -> Option<&mut K> {
        match self {
            Self::Occupied(entry) => Some(entry.get_mut()),
            Self::Vacant(_) => None,
        }
    }

    /// Changes the object if it exists.
    pub fn and_modify(self, f: impl FnOnce(&mut K)) -> Self {
        match self {
            Self::Occupied(entry) => Self::Occupied(entry.and_modify(f)),
            Self::Vacant(_) => self,
        }
    }

    /// Inserts an object if none exists. Nothing is written yet.
    pub fn or_insert(self, default: impl FnOnce() -> K) -> OccupiedEntry<'a, K>
    where
        K: Resource,
    {
        match self {
            Self::Occupied(entry) => entry,
            Self::Vacant(entry) => entry.insert(default()),
        }
    }
}

/// An object that does not exist.
#[derive(Debug)]
pub struct VacantEntry<'a, K> {
    api: &'a Api<K>,
    name: &'a str,
}

impl<'a, K> VacantEntry<'a, K> {
    /// Inserts `object`, with this entry's name and namespace unless it has its own. Nothing is written yet.
    pub fn insert(self, object: K) -> OccupiedEntry<'a, K>
    where
        K: Resource,
    {
        let mut object = object;
        let meta = object.meta_mut();
        meta.name.get_or_insert_with(|| self.name.to_owned());
        if meta.namespace.is_none() {
            meta.namespace = self.api.scope.namespace().map(str::to_owned);
        }
        OccupiedEntry { api: self.api, name: self.name, object, state: State::New }
    }
}

/// An object that exists, or is to be created.
#[derive(Debug)]
pub struct OccupiedEntry<'a, K> {
    api: &'a Api<K>,
    name: &'a str,
    object: K,
    state: State,
}

/// What [`OccupiedEntry::commit`] has to do: create, replace, or nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    New,
    Changed,
    Stored,
}

impl<K> OccupiedEntry<'_, K> {
    /// The object with its changes.
    pub fn get(&self) -> &K {
        &self.object
    }

    /// The object to change.
    pub fn get_mut(&mut self) -> &mut K {
        if self.state == State::Stored {
            self.state = State::Changed;
        }
        &mut self.object
    }

    /// Changes the object.
    pub fn and_modify(mut self, f: impl FnOnce(&mut K)) -> Self {
        f(self.get_mut());
        self
    }

    /// Returns the object with its changes. Uncommitted changes are not written.
    pub fn into_object(self) -> K {
        self.object
    }

    /// Creates or replaces the object if it has changed since the last commit. Afterwards the entry has the object as the server stored
    /// it.
    ///
    /// # Errors
    /// [`CommitError::Validate`] if the object's name or namespace are not those of this entry. [`CommitError::Save`] if the server
    /// refuses: code 409 if another client has created or changed the object since. The entry is then unchanged, and can be committed
    /// again.
    pub async fn commit(&mut self, pp: &PostParams) -> Result<(), CommitError>
    where
        K: Resource + DeserializeOwned + Serialize + Clone + Debug,
    {
        self.validate()?;
        let stored = match self.state {
            State::New => self.api.create(pp, &self.object).await,
            State::Changed => self.api.replace(self.name, pp, &self.object).await,
            State::Stored => return Ok(()),
        };
        let stored = stored.map_err(CommitError::Save)?;
        if !pp.dry_run {
            self.object = stored;
            self.state = State::Stored;
        }
        Ok(())
    }

    fn validate(&self) -> Result<(), CommitValidationError>
    where
        K: Resource,
    {
        let meta = self.object.meta();
        let name = meta.name.as_deref().unwrap_or_default();
        if name.is_empty()
            && let Some(generate_name) = &meta.generate_name
        {
            return Err(CommitValidationError::GenerateName { object_generate_name: generate_name.clone() });
        }
        if name != self.name {
            return Err(CommitValidationError::NameMismatch {
                object_name: name.to_owned(),
                expected: self.name.to_owned(),
            });
        }
        let namespace = self.api.scope.namespace();
        if namespace.is_some() && meta.namespace.as_deref() != namespace {
            return Err(CommitValidationError::NamespaceMismatch {
                object_namespace: meta.namespace.clone(),
                expected: namespace.map(str::to_owned),
            });
        }
        Ok(())
    }
}

/// Why an entry was not written.
#[derive(Debug, Error)]
pub enum CommitError {
    /// The object does not belong to the entry.
    #[error("failed to validate object for saving: {}", ErrorChain(.0))]
    Validate(#[source] CommitValidationError),
    /// The server refused it, or did not respond.
    #[error("failed to save object: {}", ErrorChain(.0))]
    Save(#[source] CallError),
}

impl From<CommitValidationError> for CommitError {
    fn from(err: CommitValidationError) -> Self {
        Self::Validate(err)
    }
}

/// Why an object does not belong to its entry.
#[derive(Debug, Error)]
pub enum CommitValidationError {
    /// It has another name.
    #[error(
        ".metadata.name does not match the name passed to Api::entry (got: {object_name:?}, expected: {expected:?})"
    )]
    NameMismatch {
        /// The object's name.
        object_name: String,
        /// The entry's name.
        expected: String,
    },
    /// It is in another namespace.
    #[error("the object is in {}: expected {}", namespace_text(.object_namespace), namespace_text(.expected))]
    NamespaceMismatch {
        /// The object's namespace.
        object_namespace: Option<String>,
        /// The entry's namespace.
        expected: Option<String>,
    },
    /// The server would generate its name.
    #[error(".metadata.generate_name must not be set (got: {object_generate_name:?})")]
    GenerateName {
        /// The prefix of the generated name.
        object_generate_name: String,
    },
}

fn namespace_text(namespace: &Option<String>) -> String {
    namespace.as_ref().map_or("no namespace".to_owned(), |name| format!("namespace {name:?}"))
}

#[cfg(test)]
mod tests;
