//! [`Rule`]: what one rule asks about an old and a new definition.

use std::fmt;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, CustomResourceDefinitionVersion, JSONSchemaProps,
};
use serde::{Serialize, Serializer};

/// Whom a change breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Breaks {
    /// Nobody: the change is worth knowing.
    Nothing,
    /// Objects that are stored: they are refused when they are written again, or lose values.
    Objects,
    /// Programs and people that use the API.
    Clients,
    /// Both.
    ObjectsAndClients,
}

impl Breaks {
    /// Whether anybody is broken.
    #[must_use]
    pub fn is_breaking(self) -> bool {
        self != Self::Nothing
    }

    /// Whether stored objects are.
    #[must_use]
    pub fn objects(self) -> bool {
        matches!(self, Self::Objects | Self::ObjectsAndClients)
    }

    /// Whether clients are.
    #[must_use]
    pub fn clients(self) -> bool {
        matches!(self, Self::Clients | Self::ObjectsAndClients)
    }
}

/// In words, such as `breaks objects and clients`.
impl fmt::Display for Breaks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Nothing => "breaks nothing",
            Self::Objects => "breaks objects",
            Self::Clients => "breaks clients",
            Self::ObjectsAndClients => "breaks objects and clients",
        })
    }
}

/// As a list: `["objects", "clients"]`.
impl Serialize for Breaks {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let whom = [(self.objects(), "objects"), (self.clients(), "clients")];
        serializer.collect_seq(whom.into_iter().filter_map(|(is, name)| is.then_some(name)))
    }
}

/// A rule of [`compare`](super::compare). [`rules`](super::rules) has all of them.
#[derive(Debug)]
pub struct Rule {
    pub(super) name: &'static str,
    pub(super) breaks: Breaks,
    pub(super) reason: &'static str,
    pub(super) check: Check,
}

impl Rule {
    pub(super) const fn new(name: &'static str, breaks: Breaks, reason: &'static str, check: Check) -> Self {
        Self { name, breaks, reason, check }
    }

    /// The name, such as `field-removed`. Names do not change between releases.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Whom the change breaks.
    #[must_use]
    pub fn breaks(&self) -> Breaks {
        self.breaks
    }

    /// Why it breaks them, in one sentence.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        self.reason
    }
}

/// Where a rule is asked, and its question.
#[derive(Debug)]
pub(super) enum Check {
    /// Of a definition that only one side has.
    OnlyOld,
    OnlyNew,
    /// Of each definition.
    Definition(fn(&Definitions<'_>) -> Vec<Finding>),
    /// Of each version that both definitions have.
    Version(fn(Pair<'_, CustomResourceDefinitionVersion>) -> Vec<Finding>),
    /// Of each schema that both versions have. If such a rule finds something, the schemas are not compared any further.
    Type(fn(Pair<'_, JSONSchemaProps>) -> Vec<Finding>),
    /// Of each schema that both versions have and that is of one type.
    Schema(fn(Pair<'_, JSONSchemaProps>) -> Vec<Finding>),
}

/// The old and the new definition of one name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Definitions<'a> {
    pub(super) old: &'a CustomResourceDefinition,
    pub(super) new: &'a CustomResourceDefinition,
    /// The versions in which objects may be stored.
    pub(super) stored: &'a [String],
}

/// The old and the new state of one part of a definition.
#[derive(Debug)]
pub(super) struct Pair<'a, T> {
    pub(super) old: &'a T,
    pub(super) new: &'a T,
}

impl<T> Clone for Pair<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Pair<'_, T> {}

/// What a rule found.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Finding {
    /// The path below the place at which the rule was asked.
    pub(super) below: String,
    /// What was changed, in words.
    pub(super) change: String,
}

impl Finding {
    /// At the place itself.
    pub(super) fn here(change: impl Into<String>) -> Self {
        Self { below: String::new(), change: change.into() }
    }

    /// Below it.
    pub(super) fn at(below: impl Into<String>, change: impl Into<String>) -> Self {
        Self { below: below.into(), change: change.into() }
    }
}
