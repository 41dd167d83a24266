//! Why a store cannot return what was asked for.

/// The writer of the store was dropped, so the awaited state cannot arrive.
#[derive(Debug, thiserror::Error)]
#[error("writer was dropped before store became ready")]
pub struct WriterDropped(pub(super) ());

/// An object in a compact cache that cannot be decoded. It exists.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{object} is in the store but cannot be decoded: {error}")]
pub struct Undecodable {
    /// Namespace and name of the object.
    pub(crate) object: Box<str>,
    /// The kind, the field and what was expected.
    pub(crate) error: Box<str>,
}
