//! Compares with recorded responses of a genuine server (see `recorded/record.py`).

use serde::Deserialize;
use serde_json::Value;

use crate::schema::Schema;

#[derive(Deserialize)]
struct Case {
    schema: Value,
    #[serde(default)]
    causes: Vec<Cause>,
}

#[derive(Deserialize, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Cause {
    field: String,
    reason: String,
    message: String,
}

#[test]
fn schemas_as_on_the_genuine_server() {
    let mut seen = 0;
    for line in include_str!("../recorded/schemas.jsonl").lines() {
        let case: Case = serde_json::from_str(line).unwrap();
        let errors = Schema::from_openapi("spec.validation", &case.schema).err().unwrap_or_default();
        let mut got: Vec<Cause> = errors
            .into_iter()
            .map(|e| Cause { field: e.field, reason: e.reason.into(), message: e.message })
            .collect();
        let mut want = case.causes;
        got.sort();
        want.sort();
        assert_eq!(got, want, "{}", case.schema);
        seen += 1;
    }
    assert!(seen > 70);
}

/// As 1.37 answers: an empty text is as good as none.
#[test]
fn unsupported_keywords_may_be_empty() {
    let doc =
        |id: &str| serde_json::json!({"type": "object", "properties": {"v": {"type": "string", "id": id}}});
    assert!(Schema::from_openapi("spec.validation", &doc("")).is_ok());
    assert!(Schema::from_openapi("spec.validation", &doc("x")).is_err());
}
