//! [`Checkpoint`]: the place at which an interrupted migration goes on, and the file that has it.

use std::io::ErrorKind;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::definition::Facts;
use super::error::MigrateError;
use crate::batch::{Batch, Refused};

/// A place in a pass over all objects. Those before it are migrated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Checkpoint {
    /// The uid and generation of the definition: in another state of it, the place has no meaning.
    pub(super) uid: String,
    pub(super) generation: i64,
    /// The continue token of the next page.
    pub(super) token: String,
    pub(super) visited: u64,
}

/// The content of the file.
#[derive(Debug, Serialize, Deserialize)]
struct File {
    definition: String,
    checkpoint: Checkpoint,
}

impl Checkpoint {
    pub(super) fn new(facts: &Facts, token: &str, visited: u64) -> Self {
        Self { uid: facts.uid.clone(), generation: facts.generation, token: token.to_owned(), visited }
    }

    /// Whether it is a place in the pass over the objects of this definition.
    pub(super) fn is_of(&self, facts: &Facts) -> bool {
        self.uid == facts.uid && self.generation == facts.generation
    }

    /// Reads the file; `None` if there is none.
    pub(super) fn read(path: &Path, crd: &str) -> Result<Option<Self>, MigrateError> {
        let text = match std::fs::read(path) {
            Ok(text) => text,
            Err(err) if err.kind() == ErrorKind::NotFound => return Ok(None),
            Err(err) => return Err(fault(path, err)),
        };
        let file: File = serde_json::from_slice(&text).map_err(|err| {
            fault(
                path,
                format_args!("expected a state file of `cargo kube crd migrate`, found another file: {err}"),
            )
        })?;
        if file.definition != crd {
            return Err(fault(
                path,
                format_args!("expected a migration of {crd}, found one of {}", file.definition),
            ));
        }
        Ok(Some(file.checkpoint))
    }

    /// Writes the file, all of it or nothing.
    pub(super) fn write(&self, path: &Path, crd: &str) -> Result<(), MigrateError> {
        let file = File { definition: crd.to_owned(), checkpoint: self.clone() };
        let text = serde_json::to_vec(&file).map_err(|err| fault(path, err))?;
        let mut batch = Batch::default();
        let written = batch.add(path, &text).and_then(|()| batch.apply());
        written.map_err(|Refused { path, source }| fault(&path, source))
    }

    /// Removes the file, if there is one.
    pub(super) fn remove(path: &Path) -> Result<(), MigrateError> {
        match std::fs::remove_file(path) {
            Err(err) if err.kind() != ErrorKind::NotFound => Err(fault(path, err)),
            _ => Ok(()),
        }
    }
}

fn fault(path: &Path, reason: impl std::fmt::Display) -> MigrateError {
    MigrateError::State { path: path.to_owned(), reason: reason.to_string() }
}
