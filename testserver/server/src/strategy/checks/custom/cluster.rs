//! Nodes.

use serde_json::{Value, json};

use super::values::{invalid, items, text};
use crate::{object::names, schema::FieldError};

pub(super) fn node(value: &Value, _at: &str, errors: &mut Vec<FieldError>) {
    let mut known = Vec::new();
    for (i, taint) in items(value, "taints") {
        let at = format!("metadata.taints[{i}]");
        let (key, effect) = (text(taint, "key"), text(taint, "effect"));
        if let Some(why) = names::qualified_name(key) {
            invalid(errors, format!("{at}.key"), &json!(key), &why);
        }
        if let Some(why) = names::label_value(text(taint, "value")) {
            invalid(errors, format!("{at}.value"), &taint["value"], &why);
        }
        match effect {
            "" => errors.push(FieldError::required(format!("{at}.effect"), "")),
            "NoSchedule" | "PreferNoSchedule" | "NoExecute" => {}
            _ => {
                let known =
                    ["NoSchedule", "PreferNoSchedule", "NoExecute"].map(|effect| format!("{effect:?}"));
                errors.push(FieldError::not_supported(format!("{at}.effect"), format!("{effect:?}"), &known));
            }
        }
        if known.contains(&(key, effect)) {
            // Go prints the struct.
            let added =
                if taint["timeAdded"].is_null() { "null".to_owned() } else { taint["timeAdded"].to_string() };
            let shown = format!(
                "{{\"Key\":{key:?},\"Value\":{:?},\"Effect\":{effect:?},\"TimeAdded\":{added}}}: taints must be unique by key and effect pair",
                text(taint, "value")
            );
            errors.push(FieldError::duplicate(at, shown));
        }
        known.push((key, effect));
    }
}
