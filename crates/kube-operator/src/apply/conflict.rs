//! Conflicts of server-side apply, by field manager.

use kube_client::error::FieldConflict;
use kube_core::Status;
use std::fmt;

/// Other field managers own fields that an apply would change, so the server refused it.
///
/// `{}` prints the object, and each field with its manager.
#[derive(Debug, Clone)]
pub struct ApplyConflict {
    /// The object: kind, namespace and name.
    pub object: String,
    /// The field manager of the apply.
    pub manager: String,
    /// The fields, in the order of the response.
    pub fields: Vec<FieldConflict>,
}

impl ApplyConflict {
    /// The conflicts in a response; `None` if it is another error, such as a wrong uid.
    pub(crate) fn of(status: &Status, object: String, manager: &str) -> Option<Self> {
        let fields = FieldConflict::of(status);
        (!fields.is_empty()).then(|| Self { object, manager: manager.to_owned(), fields })
    }
}

impl fmt::Display for ApplyConflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: field manager {:?} may not change fields of other managers: ",
            self.object, self.manager
        )?;
        for (at, FieldConflict { manager, field }) in self.fields.iter().enumerate() {
            write!(f, "{}{field} of {manager}", if at == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

impl std::error::Error for ApplyConflict {}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn status(causes: serde_json::Value) -> Status {
        let details = json!({ "causes": causes });
        serde_json::from_value(
            json!({ "status": "Failure", "reason": "Conflict", "code": 409, "details": details }),
        )
        .unwrap()
    }

    #[test]
    fn the_message_names_object_managers_and_fields() {
        let cause = |manager: &str, field: &str| json!({ "reason": "FieldManagerConflict", "message": format!("conflict with {manager}"), "field": field });
        let status = status(json!([
            cause("\"kubectl\"", ".spec.replicas"),
            cause("\"hpa\" using apps/v1", ".spec.x")
        ]));
        let conflict = ApplyConflict::of(&status, "Deployment web in namespace shop".into(), "me").unwrap();
        let expected = "Deployment web in namespace shop: field manager \"me\" may not change fields of other managers: \
                        .spec.replicas of \"kubectl\", .spec.x of \"hpa\" using apps/v1";
        assert_eq!(conflict.to_string(), expected);
    }

    #[test]
    fn other_errors_are_no_conflicts_of_fields() {
        assert!(ApplyConflict::of(&status(json!([])), String::new(), "me").is_none());
        assert!(ApplyConflict::of(&Status::default(), String::new(), "me").is_none());
    }
}
