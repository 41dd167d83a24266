//! Formats numbers, lists and selectors for cells.

use serde_json::Value;

use crate::response::table::age;

pub(super) const NONE: &str = "<none>";
pub(super) const UNSET: &str = "<unset>";

/// The text, or `otherwise` if it is null or empty.
pub(super) fn text_or(value: &Value, otherwise: &str) -> Value {
    if value.as_str().is_some_and(|s| !s.is_empty()) { value.clone() } else { otherwise.into() }
}

pub(super) fn or_none(value: &Value) -> Value {
    text_or(value, NONE)
}

/// Texts joined by a separator, or `<none>`.
pub(super) fn joined(texts: impl IntoIterator<Item = String>, separator: &str) -> Value {
    or_none(&texts.into_iter().collect::<Vec<_>>().join(separator).into())
}

/// The first three texts, and the number of others.
pub(super) fn first_three(texts: Vec<String>) -> String {
    match texts.len() {
        0..=3 => texts.join(","),
        many => format!("{} + {} more...", texts[..3].join(","), many - 3),
    }
}

pub(super) fn number(value: &Value) -> i64 {
    value.as_i64().unwrap_or(0)
}

pub(super) fn count(value: &Value) -> usize {
    value.as_object().map_or_else(|| value.as_array().map_or(0, Vec::len), serde_json::Map::len)
}

pub(super) fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// The texts in a field of each item.
pub(super) fn each<'a>(list: &'a Value, field: &'a str) -> impl Iterator<Item = String> + 'a {
    items(list).filter_map(move |item| item[field].as_str().map(Into::into))
}

/// A number or text, or `otherwise` if it is null.
pub(super) fn provided(value: &Value, otherwise: &str) -> Value {
    match value {
        Value::Null => otherwise.into(),
        Value::String(_) => value.clone(),
        other => other.to_string().into(),
    }
}

/// An optional boolean in Go's format.
pub(super) fn switch(value: &Value) -> Value {
    match value {
        Value::Bool(true) => "True".into(),
        Value::Bool(false) => "False".into(),
        _ => UNSET.into(),
    }
}

pub(super) fn ratio(part: &Value, whole: &Value) -> Value {
    format!("{}/{}", number(part), whole.as_i64().unwrap_or(1)).into()
}

pub(super) fn condition<'a>(object: &'a Value, kind: &str) -> &'a str {
    let mut conditions = items(&object["status"]["conditions"]).filter(|condition| condition["type"] == kind);
    conditions.find_map(|condition| condition["status"].as_str()).unwrap_or_default()
}

/// The time since a timestamp, or `otherwise` if there is none.
pub(super) fn since(then: &Value, now: &str, otherwise: &str) -> Value {
    then.as_str().map_or_else(|| otherwise.into(), |then| age::since(then, now).into())
}

/// A label selector as text: pairs and expressions, sorted by key.
pub(super) fn selector(selector: &Value) -> Value {
    let mut terms: Vec<(String, String)> = pairs(&selector["matchLabels"])
        .map(|(key, value)| (key.to_owned(), format!("{key}={value}")))
        .collect();
    for expression in items(&selector["matchExpressions"]) {
        let key = expression["key"].as_str().unwrap_or_default();
        let mut values: Vec<&str> = items(&expression["values"]).filter_map(Value::as_str).collect();
        values.sort_unstable();
        let values = values.join(",");
        terms.push((
            key.to_owned(),
            match expression["operator"].as_str().unwrap_or_default() {
                "In" => format!("{key} in ({values})"),
                "NotIn" => format!("{key} notin ({values})"),
                "DoesNotExist" => format!("!{key}"),
                _ => key.to_owned(),
            },
        ));
    }
    terms.sort();
    joined(terms.into_iter().map(|(_, term)| term), ",")
}

/// A map of labels as text.
pub(super) fn labels(labels: &Value) -> Value {
    joined(pairs(labels).map(|(key, value)| format!("{key}={value}")), ",")
}

fn pairs(map: &Value) -> impl Iterator<Item = (&str, &str)> {
    let pairs = map.as_object().into_iter().flatten();
    pairs.filter_map(|(key, value)| Some((key.as_str(), value.as_str()?)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn selectors_are_written_by_key() {
        let all = json!({"matchLabels": {"b": "1"}, "matchExpressions": [
            {"key": "c", "operator": "In", "values": ["y", "x"]}, {"key": "a", "operator": "Exists"},
            {"key": "d", "operator": "DoesNotExist"}, {"key": "e", "operator": "NotIn", "values": ["z"]}]});
        assert_eq!(selector(&all), "a,b=1,c in (x,y),!d,e notin (z)");
        assert_eq!(selector(&json!({})), "<none>");
        assert_eq!(labels(&json!({"x": "1", "y": "2"})), "x=1,y=2");
    }

    #[test]
    fn long_lists_end_with_the_number_of_others() {
        let texts = |n: usize| (0..n).map(|i| i.to_string()).collect();
        assert_eq!(first_three(texts(3)), "0,1,2");
        assert_eq!(first_three(texts(5)), "0,1,2 + 2 more...");
    }
}
