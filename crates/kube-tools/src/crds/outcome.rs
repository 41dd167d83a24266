//! The outcome of an installation: definitions, and why others could not be installed.

use std::fmt;
use std::time::Duration;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube_client::discovery::RestMapperError;
use kube_client::error::Error as CallError;
use kube_client::error::ErrorChain;
use thiserror::Error;

use crate::wait::WaitError;

/// A definition that was installed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct InstalledCrd {
    /// The definition, as the server stores it.
    pub crd: CustomResourceDefinition,
    /// Versions that the server had and the program's definition has not.
    pub kept_versions: Vec<String>,
    /// Fields that the server had and the program's definition has not, each with its version, such as `v1 spec.color`. Empty if the
    /// definition was [only added to](Self::only_added_to).
    pub kept_fields: Vec<String>,
    /// The stored definition is of a newer release of the program: all of it was kept, and the program's definition was applied only as far
    /// as it adds versions and fields.
    pub only_added_to: bool,
}

/// Why a definition could not be installed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CrdError {
    /// The definition has no `metadata.name`.
    #[error("a CustomResourceDefinition has no metadata.name: expected PLURAL.GROUP")]
    NoName,
    /// The definition was given twice.
    #[error(
        "the CustomResourceDefinition {name} was given twice: expected one with all versions, as merge_crds makes it"
    )]
    GivenTwice {
        /// Its name.
        name: String,
    },
    /// The server refused a request, or could not be reached.
    #[error("the CustomResourceDefinition {name} was not installed: {}", ErrorChain(.error))]
    Request {
        /// Its name.
        name: String,
        /// The cause.
        #[source]
        error: CallError,
    },
    /// Another definition has one of the names of its kind.
    #[error("the CustomResourceDefinition {name} is stored, but not served: {message}")]
    NamesTaken {
        /// Its name.
        name: String,
        /// What its condition `NamesAccepted` says.
        message: String,
    },
    /// It cannot be watched, so that it is not known whether its kind is served.
    #[error("cannot watch {0}")]
    Watch(#[source] WaitError),
    /// It is established, and discovery is refused, so that it is not known whether its kind is served.
    #[error("the CustomResourceDefinition {name} is established, but discovery failed: {error}")]
    Discovery {
        /// Its name.
        name: String,
        /// The cause.
        #[source]
        error: RestMapperError,
    },
    /// Another client deleted it before its kind was served.
    #[error("the CustomResourceDefinition {name} was deleted before its kind was served")]
    Deleted {
        /// Its name.
        name: String,
    },
    /// The kind was not served in time.
    #[error("the CustomResourceDefinition {name} was not served within {} s: {state}", .limit.as_secs())]
    TimedOut {
        /// Its name.
        name: String,
        /// What was waited for in the end.
        state: String,
        /// The limit.
        limit: Duration,
    },
}

/// Some definitions could not be installed. `{}` says of each why.
#[derive(Debug)]
pub struct InstallError {
    /// Those that failed; at least one.
    pub failed: Vec<CrdError>,
    /// The others.
    pub installed: Vec<InstalledCrd>,
}

impl fmt::Display for InstallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, error) in self.failed.iter().enumerate() {
            write!(f, "{}{error}", if at == 0 { "" } else { "; " })?;
        }
        Ok(())
    }
}

impl std::error::Error for InstallError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.failed.first().and_then(std::error::Error::source)
    }
}
