//! The values at the ends of what a schema lets pass.

use serde_json::{Value, json};

use super::rule::{Type, allows, largest_of, listed};
use crate::plan::EditFault;

/// The length of a text for which the schema has no limit: more than a name or a label may have, less than an object.
const LONG: usize = 10_000;

/// The extremes of a field other than the present value, and how many the limits of the schema exclude.
pub(super) fn extremes(schema: &Value, present: Option<&Value>) -> (Vec<(EditFault, Value)>, usize) {
    if listed(schema).is_some() {
        return (Vec::new(), 0);
    }
    let present = present.filter(|value| !value.is_null());
    let numbers = |largest: Value| {
        vec![(EditFault::Zero, json!(0)), (EditFault::Negative, json!(-1)), (EditFault::Largest, largest)]
    };
    let mut values = match Type::of(schema) {
        Type::Text => texts(schema),
        Type::Integer => numbers(largest(schema, largest_of(schema["format"].as_str()))),
        Type::Number => numbers(largest(schema, json!(f64::MAX))),
        Type::IntOrString => numbers(largest_of(Some("int32"))),
        Type::List => vec![(EditFault::Empty, json!([]))],
        Type::Map => vec![(EditFault::Empty, json!({}))],
        Type::Boolean | Type::Object | Type::Unknown => Vec::new(),
    };
    values.retain(|(_, value)| Some(value) != present);
    let all = values.len();
    values.retain(|(_, value)| allows(schema, value));
    let excluded = all - values.len();
    (values, excluded)
}

/// The limit of the schema, if it is within the type.
fn largest(schema: &Value, of_type: Value) -> Value {
    match (&schema["maximum"], schema["exclusiveMaximum"] == true) {
        (limit @ Value::Number(_), false) if limit.as_f64() <= of_type.as_f64() => limit.clone(),
        (limit, true) if limit.is_i64() => json!(limit.as_i64().unwrap_or_default() - 1),
        _ => of_type,
    }
}

fn texts(schema: &Value) -> Vec<(EditFault, Value)> {
    let mut texts = vec![(EditFault::Empty, json!(""))];
    // A format has no long texts.
    if !schema["format"].is_string() {
        let most = schema["maxLength"].as_u64().and_then(|most| usize::try_from(most).ok());
        texts.push((EditFault::Long, "x".repeat(most.unwrap_or(LONG).min(LONG)).into()));
    }
    texts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(schema: Value, present: Value) -> (Vec<(EditFault, Value)>, usize) {
        extremes(&schema, Some(&present))
    }

    #[test]
    fn numbers_have_three_extremes_within_their_limits() {
        let both = |largest: Value| {
            (
                vec![
                    (EditFault::Zero, json!(0)),
                    (EditFault::Negative, json!(-1)),
                    (EditFault::Largest, largest),
                ],
                0,
            )
        };
        assert_eq!(of(json!({"type": "integer"}), json!(1)), both(json!(i64::MAX)));
        assert_eq!(of(json!({"type": "integer", "format": "int32"}), json!(1)), both(json!(i32::MAX)));
        assert_eq!(of(json!({"type": "integer", "maximum": 9}), json!(1)), both(json!(9)));
        let below = json!({"type": "integer", "maximum": 9, "exclusiveMaximum": true});
        assert_eq!(of(below, json!(1)), both(json!(8)));
        assert_eq!(of(json!({"type": "number"}), json!(1)), both(json!(f64::MAX)));
        let positive = json!({"type": "integer", "format": "uint8", "minimum": 1});
        assert_eq!(of(positive, json!(255)), (Vec::new(), 2));
        assert_eq!(
            extremes(&json!({"type": "integer", "minimum": 0, "format": "uint32"}), None).0[1].1,
            json!(u32::MAX)
        );
    }

    #[test]
    fn texts_lists_and_maps_are_empty_or_long() {
        let faults = |schema: Value, present: Value| -> Vec<EditFault> {
            of(schema, present).0.into_iter().map(|(fault, _)| fault).collect()
        };
        let text = json!({"type": "string"});
        assert_eq!(faults(text.clone(), json!("a")), [EditFault::Empty, EditFault::Long]);
        assert_eq!(faults(text.clone(), json!("")), [EditFault::Long]);
        assert_eq!(faults(json!({"type": "string", "format": "date"}), json!("a")), [EditFault::Empty]);
        assert_eq!(faults(json!({"type": "string", "enum": ["a"]}), json!("a")), []);
        let optional =
            json!({"type": "string", "anyOf": [{"enum": ["a"]}, {"enum": [null], "nullable": true}]});
        assert_eq!(faults(optional, json!("a")), []);
        let short = json!({"type": "string", "maxLength": 3});
        assert_eq!(of(short, json!("a")).0[1].1, json!("xxx"));
        let list = json!({"type": "array", "items": text});
        assert_eq!(faults(list.clone(), json!(["a"])), [EditFault::Empty]);
        assert_eq!(faults(list, json!([])), []);
        let map = json!({"type": "object", "additionalProperties": text, "minProperties": 1});
        assert_eq!(of(map, json!({"a": "b"})), (Vec::new(), 1));
    }
}
