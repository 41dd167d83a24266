//! [`FieldConflict`]: who owns the fields for which the server refused an apply.

use std::fmt;

use kube_core::Status;

/// A field that an apply would change and that another manager owns. `{}` prints it as `.spec.replicas of "kubectl" using apps/v1`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldConflict {
    /// The manager as the server describes it: its name in quotes, and possibly subresource, API version and time, such as
    /// `"kubectl" using apps/v1 at 2026-01-01T00:00:00Z`. [`manager_name`](Self::manager_name) is the name alone.
    pub manager: String,
    /// The path of the field, such as `.spec.replicas` or `.spec.containers[name="web"].image`.
    pub field: String,
}

impl FieldConflict {
    /// The conflicts in a response, in its order. Empty if it is another error: a 409 because the object has changed, or a uid that
    /// is not that of the object, has none.
    pub fn of(status: &Status) -> Vec<Self> {
        let causes = status.details.iter().flat_map(|details| &details.causes);
        let causes = causes.filter(|cause| cause.reason == "FieldManagerConflict");
        let conflict = |cause: &kube_core::response::StatusCause| Self {
            manager: cause.message.strip_prefix("conflict with ").unwrap_or(&cause.message).to_owned(),
            field: cause.field.clone(),
        };
        causes.map(conflict).collect()
    }

    /// The name of the manager. It is the whole of [`manager`](Self::manager) if that does not begin with a name in quotes.
    pub fn manager_name(&self) -> String {
        let mut values = serde_json::Deserializer::from_str(&self.manager).into_iter::<String>();
        values.next().and_then(Result::ok).unwrap_or_else(|| self.manager.clone())
    }
}

impl fmt::Display for FieldConflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.field, self.manager)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_manager_is_in_its_description() {
        let name =
            |manager: &str| FieldConflict { manager: manager.into(), field: ".a".into() }.manager_name();
        assert_eq!(name("\"kubectl\""), "kubectl");
        assert_eq!(name("\"me\" with subresource \"status\" using v1 at 2026-01-01T00:00:00Z"), "me");
        assert_eq!(name(r#""a \"b\"" using v1"#), r#"a "b""#);
        assert_eq!(name("someone"), "someone");
        assert_eq!(name("\"open"), "\"open");
    }

    #[test]
    fn other_conflicts_have_no_fields() {
        let changed = Status::failure("the object has been modified", "Conflict").with_code(409);
        assert_eq!(FieldConflict::of(&changed), []);
    }
}
