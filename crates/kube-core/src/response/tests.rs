//! Which statuses decode, and which are errors.

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{Status, StatusCause, StatusDetails};

/// The value as it is written again, or the error.
fn read<T: DeserializeOwned + serde::Serialize>(input: &Value) -> Result<Value, String> {
    let from_text = serde_json::from_str::<T>(&input.to_string());
    let from_value = serde_json::from_value::<T>(input.clone());
    assert_eq!(from_text.is_ok(), from_value.is_ok(), "{input}");
    from_text.map(|read| json!(read)).map_err(|err| err.to_string())
}

fn accepted<T: DeserializeOwned + serde::Serialize>(input: &Value, written: &Value) {
    assert_eq!(read::<T>(input).as_ref(), Ok(written), "{input}");
}

fn rejected<T: DeserializeOwned + serde::Serialize>(input: &Value, why: &str) {
    let error = read::<T>(input).expect_err(&input.to_string());
    assert!(error.contains(why), "{input}: {error}");
}

#[test]
fn a_status_has_only_optional_fields() {
    accepted::<Status>(&json!({}), &json!({}));
    let all = json!({
        "status": "Failure", "code": 65535, "message": "m", "reason": "r",
        "metadata": {"continue": "c", "remainingItemCount": 3, "resourceVersion": "1", "selfLink": "s"},
        "details": {"name": "n", "group": "g", "kind": "k", "uid": "u", "retryAfterSeconds": 4_294_967_295_u32,
                    "causes": [{"reason": "a", "message": "b", "field": "c"}, {}]}});
    accepted::<Status>(&all, &all);
    let nulls = json!({"status": null, "metadata": null, "details": null});
    accepted::<Status>(&nulls, &json!({}));
    let unknown = json!({"kind": "Status", "apiVersion": "v1", "more": [1],
        "details": {"odd": {}, "causes": [{"odd": null}]}, "metadata": {"odd": 1, "continue": null}});
    accepted::<Status>(&unknown, &json!({"details": {"causes": [{}]}, "metadata": {}}));
}

#[test]
fn other_types_in_a_status_are_errors() {
    for value in [json!(null), json!(true), json!(5), json!({}), json!(["x"])] {
        rejected::<Status>(&json!({ "message": value }), "expected a string");
        rejected::<Status>(&json!({ "reason": value }), "expected a string");
    }
    for value in [json!(null), json!(true), json!(-1), json!(65536), json!(1.5), json!("1"), json!([1])] {
        rejected::<Status>(&json!({ "code": value }), "expected u16");
    }
    for name in ["status", "metadata", "details"] {
        for value in [json!(true), json!(-1), json!(1.5), json!("x"), json!([5])] {
            rejected::<Status>(&json!({ name: value }), "expected");
        }
    }
    rejected::<Status>(
        &json!({"status": "success"}),
        "unknown variant `success`, expected `Success` or `Failure`",
    );
    rejected::<Status>(&json!({"metadata": {"remainingItemCount": "x"}}), "expected i64");
    for name in ["name", "group", "kind", "uid"] {
        rejected::<Status>(&json!({"details": {name: 5}}), "invalid type: integer `5`, expected a string");
        rejected::<Status>(&json!({"details": {name: null}}), "invalid type: null, expected a string");
    }
    for value in [json!(null), json!(-1), json!(4_294_967_296_u64), json!("2"), json!({})] {
        rejected::<Status>(&json!({"details": {"retryAfterSeconds": value}}), "expected u32");
    }
    for value in [json!(null), json!({}), json!("x"), json!([5]), json!([null])] {
        rejected::<Status>(&json!({"details": {"causes": value}}), "expected");
    }
    for name in ["reason", "message", "field"] {
        for value in [json!(null), json!(5)] {
            rejected::<Status>(&json!({"details": {"causes": [{}, {name: value}]}}), "expected a string");
        }
    }
    for input in [json!(null), json!(5), json!("x"), json!([5]), json!(true)] {
        rejected::<Status>(&input, "expected");
        rejected::<StatusDetails>(&input, "expected");
        rejected::<StatusCause>(&input, "expected");
    }
}

#[test]
fn the_parts_of_a_status_are_read_alone() {
    let cause = json!({"reason": "a", "message": "b", "field": "c"});
    accepted::<StatusCause>(&cause, &cause);
    let details = json!({"name": "n", "causes": [cause]});
    accepted::<StatusDetails>(&details, &details);
}
