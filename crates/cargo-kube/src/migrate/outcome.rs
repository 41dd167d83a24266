//! [`Progress`] and [`Summary`]: what a migration has done so far, and in the end.

use std::fmt;

use serde::Serialize;

/// How far a migration is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// Objects that were visited, of this pass, with those of earlier runs that it continues.
    pub visited: u64,
    /// About how many objects there are; `None` until the first page is read, and if the server does not tell.
    pub total: Option<u64>,
}

/// What a migration did.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Summary {
    /// Objects that were written again.
    pub written: u64,
    /// Objects that the server did not write: their bytes were those of the storage version.
    pub unchanged: u64,
    /// Objects that someone else wrote meanwhile.
    pub written_by_others: u64,
    /// Objects that someone deleted meanwhile.
    pub deleted: u64,
    /// Objects that the server refused to write. `storedVersions` was not changed if there are any.
    pub refused: Vec<Refused>,
    /// The versions that were removed from `status.storedVersions`. Empty if others did that, or none but the storage version was in it.
    pub removed_versions: Vec<String>,
    /// The storage version.
    pub storage_version: String,
    /// There was nothing to do: `status.storedVersions` had the storage version alone, so no object was visited.
    pub was_migrated: bool,
}

impl Summary {
    /// Whether all objects are in the storage version, and `status.storedVersions` says so.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.refused.is_empty()
    }
}

/// An object that the server refused to write, and stays as it is. `{}` is one line with all of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Refused {
    /// The namespace; `None` for a kind without namespaces.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The name.
    pub name: String,
    /// The message of the server.
    pub message: String,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let namespace = self.namespace.as_deref().map(|namespace| format!("{namespace}/"));
        write!(f, "{}{}: {}", namespace.unwrap_or_default(), self.name, self.message)
    }
}
