//! The error of an object of a list that is larger than the limit.

#[derive(Debug, thiserror::Error)]
#[error(
    "{object} has more than {limit} bytes, the most of one object (`collect_limit` of the configuration)"
)]
pub(super) struct ObjectTooLarge {
    pub(super) object: String,
    pub(super) limit: usize,
}
