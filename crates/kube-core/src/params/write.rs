//! Creating and replacing objects.

/// How an object is created or replaced.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PostParams {
    /// Lets the server do everything but store the object.
    pub dry_run: bool,
    /// Who makes the change, for the record of field owners: at most 128 bytes of printable text. `None` lets the
    /// server derive it from the user agent.
    pub field_manager: Option<String>,
}
