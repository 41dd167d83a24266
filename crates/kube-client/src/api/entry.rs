//! One object by name, whether it is there or not: look, change, and write back.

use std::fmt::Debug;

use kube_core::Resource;
use kube_core::params::PostParams;
use serde::Serialize;
use serde::de::DeserializeOwned;
use thiserror::Error;

use super::Api;
use crate::chain::ErrorChain;
use crate::error::Error as CallError;

impl<K: Resource + Clone + DeserializeOwned + Debug> Api<K> {
    /// The object `name`, or its empty place. Changes are written by [`OccupiedEntry::commit`].
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
    pub async fn entry<'a>(&'a self, name: &'a str) -> Result<Entry<'a, K>, CallError> {
        Ok(match self.get_opt(name).await? {
            Some(object) => Entry::Occupied(OccupiedEntry { api: self, name, object, state: State::Stored }),
            None => Entry::Vacant(VacantEntry { api: self, name }),
        })
    }
}

/// An object by name, or its empty place.
#[derive(Debug)]
pub enum Entry<'a, K> {
    /// The object is there.
    Occupied(OccupiedEntry<'a, K>),
    /// The object is not there.
    Vacant(VacantEntry<'a, K>),
}

impl<'a, K> Entry<'a, K> {
    /// The object, if it is there.
    pub fn get(&self) -> Option<&K> {
        match self {
            Self::Occupied(entry) => Some(entry.get()),
            Self::Vacant(_) => None,
        }
    }

    /// The object to change, if it is there.
    pub fn get_mut(&mut self) -> Option<&mut K> {
        match self {
            Self::Occupied(entry) => Some(entry.get_mut()),
            Self::Vacant(_) => None,
        }
    }

    /// Changes the object if it is there.
    pub fn and_modify(self, f: impl FnOnce(&mut K)) -> Self {
        match self {
            Self::Occupied(entry) => Self::Occupied(entry.and_modify(f)),
            Self::Vacant(_) => self,
        }
    }

    /// Puts an object into the empty place. Nothing is written yet.
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

/// The empty place of an object.
#[derive(Debug)]
pub struct VacantEntry<'a, K> {
    api: &'a Api<K>,
    name: &'a str,
}

impl<'a, K> VacantEntry<'a, K> {
    /// Puts `object` there, under this entry's name and namespace unless it has its own. Nothing is written yet.
    pub fn insert(self, object: K) -> OccupiedEntry<'a, K>
    where
        K: Resource,
    {
        let mut object = object;
        let meta = object.meta_mut();
        meta.name.get_or_insert_with(|| self.name.to_owned());
        if meta.namespace.is_none() {
            meta.namespace = self.api.place.namespace().map(str::to_owned);
        }
        OccupiedEntry { api: self.api, name: self.name, object, state: State::New }
    }
}

/// An object that is there, or is about to be.
#[derive(Debug)]
pub struct OccupiedEntry<'a, K> {
    api: &'a Api<K>,
    name: &'a str,
    object: K,
    state: State,
}

/// What a commit has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    New,
    Changed,
    Stored,
}

impl<K> OccupiedEntry<'_, K> {
    /// The object as it is here, changes included.
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

    /// Takes the object out, changes included. What is not committed is not written.
    pub fn into_object(self) -> K {
        self.object
    }

    /// Writes what has changed since the last time: creates the object or replaces it, or does nothing. Afterwards the entry holds
    /// the object as the server has it.
    ///
    /// # Errors
    /// [`CommitError::Validate`] if name or namespace of the object do not lead back to this entry. [`CommitError::Save`] if the server
    /// refuses: code 409 if somebody else has created or changed the object since. The entry is then as before, and can be committed
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
        let namespace = self.api.place.namespace();
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
    #[error("the object does not belong to this entry: {}", ErrorChain(.0))]
    Validate(#[source] CommitValidationError),
    /// The server did not take it.
    #[error("the object could not be saved: {}", ErrorChain(.0))]
    Save(#[source] CallError),
}

impl From<CommitValidationError> for CommitError {
    fn from(err: CommitValidationError) -> Self {
        Self::Validate(err)
    }
}

/// How an object does not lead back to the entry that it is in.
#[derive(Debug, Error)]
pub enum CommitValidationError {
    /// It has another name.
    #[error("the object is named {object_name:?}: expected {expected:?}")]
    NameMismatch {
        /// The object's name.
        object_name: String,
        /// The entry's name.
        expected: String,
    },
    /// It is in another namespace.
    #[error("the object is in {}: expected {}", place(.object_namespace), place(.expected))]
    NamespaceMismatch {
        /// The object's namespace.
        object_namespace: Option<String>,
        /// The entry's namespace.
        expected: Option<String>,
    },
    /// The server would make up its name.
    #[error("the object has `generateName` {object_generate_name:?} and no name: an entry needs a name")]
    GenerateName {
        /// The beginning of the name.
        object_generate_name: String,
    },
}

fn place(namespace: &Option<String>) -> String {
    namespace.as_ref().map_or("no namespace".to_owned(), |name| format!("namespace {name:?}"))
}

#[cfg(test)]
mod tests;
