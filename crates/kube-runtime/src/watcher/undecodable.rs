//! Objects that cannot be decoded, and the errors that name them.

use super::{Error, error::ErasedError};
use kube_core::error_boundary::InvalidObject;
use std::{error::Error as StdError, fmt, io};

/// An object that cannot be decoded. Only its metadata is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UndecodableObject {
    pub(crate) namespace: Option<String>,
    /// Empty if the server sent no name, or one that is not a string.
    pub(crate) name: String,
    pub(crate) uid: Option<String>,
    pub(crate) resource_version: Option<String>,
    /// Whether this is its last state: it was deleted, or the selectors no longer match it.
    pub(crate) deleted: bool,
    /// Why it cannot be decoded.
    pub(crate) error: String,
}

impl UndecodableObject {
    pub(crate) fn new(invalid: InvalidObject, deleted: bool) -> Self {
        let InvalidObject { metadata, mut error } = invalid;
        let finalizers = metadata.finalizers.unwrap_or_default().join(", ");
        if metadata.deletion_timestamp.is_some() && !finalizers.is_empty() && !deleted {
            error.push_str("; it is being deleted, and waits for its finalizers: ");
            error.push_str(&finalizers);
        }
        Self {
            namespace: metadata.namespace,
            name: metadata.name.unwrap_or_default(),
            uid: metadata.uid,
            resource_version: metadata.resource_version,
            deleted,
            error,
        }
    }
}

#[cfg(test)]
impl UndecodableObject {
    /// One of which nothing else is known.
    pub(crate) fn named(namespace: Option<&str>, name: &str, error: &str) -> Self {
        let (namespace, error) = (namespace.map(str::to_owned), error.to_owned());
        Self { namespace, name: name.to_owned(), uid: None, resource_version: None, deleted: false, error }
    }
}

/// `namespace/name`.
impl fmt::Display for UndecodableObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(namespace) = &self.namespace {
            write!(f, "{namespace}/")?;
        }
        f.write_str(if self.name.is_empty() { "(unnamed)" } else { &self.name })
    }
}

impl From<UndecodableObject> for ErasedError {
    fn from(object: UndecodableObject) -> Self {
        Error::from(object).into()
    }
}

impl From<UndecodableObject> for Error {
    fn from(object: UndecodableObject) -> Self {
        Self::WatchFailed(decode_error(vec![object]))
    }
}

impl Error {
    /// The error of all undecodable objects of a list.
    pub(super) fn of_list(objects: Vec<UndecodableObject>) -> Self {
        Self::InitialListFailed(decode_error(objects))
    }

    /// Namespace and name of each object that cannot be decoded, if the error is about such. Those of a list exist: they are not gone.
    #[doc(hidden)]
    pub fn undecodable_names(&self) -> impl Iterator<Item = (Option<&str>, &str)> {
        let existing = self.undecodable().filter(|object| !object.deleted);
        existing.map(|object| (object.namespace.as_deref(), object.name.as_str()))
    }

    /// The undecodable objects that this error concerns; none for other errors.
    pub(crate) fn undecodable(&self) -> impl Iterator<Item = &UndecodableObject> {
        let details = match self {
            Self::InitialListFailed(kube_client::Error::SerdeError(error))
            | Self::WatchFailed(kube_client::Error::SerdeError(error)) => {
                error.source().and_then(|source| source.downcast_ref::<UndecodableDetails>())
            }
            _ => None,
        };
        details.into_iter().flat_map(|details| &details.0)
    }
}

/// A decoding error that names all objects. The source of its source contains them.
fn decode_error(objects: Vec<UndecodableObject>) -> kube_client::Error {
    /// A writer that fails: only an error of a writer or reader becomes a `serde_json` error with a source.
    struct FailingWriter(Option<UndecodableSummary>);

    impl io::Write for FailingWriter {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(self.0.take().map_or_else(
                || io::ErrorKind::InvalidData.into(),
                |summary| io::Error::new(io::ErrorKind::InvalidData, summary),
            ))
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    let summary = UndecodableSummary { details: UndecodableDetails(objects) };
    let error = serde_json::to_writer(FailingWriter(Some(summary)), &());
    kube_client::Error::SerdeError(error.expect_err("invariant: the writer always fails"))
}

/// Displays the number of objects and then its source, because some programs print only one level of an error.
#[derive(Debug)]
struct UndecodableSummary {
    details: UndecodableDetails,
}

impl fmt::Display for UndecodableSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.details.0.len() {
            1 => write!(f, "skipped an object that cannot be decoded: {}", self.details),
            total => write!(f, "skipped {total} objects that cannot be decoded: {}", self.details),
        }
    }
}

impl StdError for UndecodableSummary {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(&self.details)
    }
}

/// Displays the names of all objects, and the errors of the first few: usually all have the same.
#[derive(Debug)]
struct UndecodableDetails(Vec<UndecodableObject>);

impl UndecodableDetails {
    const EXPLAINED: usize = 10;
}

impl fmt::Display for UndecodableDetails {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (explained, named) = self.0.split_at(self.0.len().min(Self::EXPLAINED));
        let explained = explained.iter().map(|object| format!("{object}: {}", object.error));
        f.write_str(&explained.collect::<Vec<_>>().join("; "))?;
        if !named.is_empty() {
            let named = named.iter().map(ToString::to_string).collect::<Vec<_>>();
            write!(f, "; and {}", named.join(", "))?;
        }
        Ok(())
    }
}

impl StdError for UndecodableDetails {}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(name: &str) -> UndecodableObject {
        UndecodableObject::named(Some("ns"), name, "data is no map")
    }

    fn chain(error: &dyn StdError) -> Vec<String> {
        let mut chain = vec![error.to_string()];
        chain.extend(error.source().map(self::chain).unwrap_or_default());
        chain
    }

    #[test]
    fn an_error_names_and_contains_every_object() {
        let objects: Vec<_> = (0..15).map(|i| object(&format!("o{i}"))).collect();
        let error = Error::of_list(objects.clone());
        assert!(error.undecodable().eq(&objects));
        let chain = chain(&error);
        assert!(chain[3].starts_with("ns/o0: data is no map; ns/o1: data is no map; "), "{chain:?}");
        assert!(chain[3].ends_with("; and ns/o10, ns/o11, ns/o12, ns/o13, ns/o14"), "{chain:?}");
        assert_eq!(chain[2], format!("skipped 15 objects that cannot be decoded: {}", chain[3]));
    }

    #[test]
    fn one_object_is_named_at_each_level() {
        let error = Error::from(object("bad"));
        let expected =
            ["skipped an object that cannot be decoded: ns/bad: data is no map", "ns/bad: data is no map"];
        assert_eq!(chain(&error)[2..], expected);
        assert!(error.is_permanent());
    }

    #[test]
    fn other_errors_contain_no_objects() {
        let unreadable = serde_json::from_str::<serde::de::IgnoredAny>("{").unwrap_err();
        let error = Error::WatchFailed(kube_client::Error::SerdeError(unreadable));
        assert_eq!(error.undecodable().count() + Error::NoResourceVersion.undecodable().count(), 0);
        assert!(!error.is_permanent(), "an unreadable line is requested again");
    }
}
