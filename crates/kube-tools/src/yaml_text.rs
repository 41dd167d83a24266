//! [`to_string`]: a value as YAML.

use kube_client::{Error, Result};
use serde::ser::Error as _;
use serde_json::{Map, Value};

/// A value as YAML, with a line end: fields sorted, strings of several lines as blocks, one line for each other one.
///
/// The text is the same in every run, whatever features of `serde_json` the program has, and a change of one word is a change of one line.
/// Strings that a YAML 1.1 parser such as kubectl's would take for another type are quoted.
///
/// ```
/// let pod = serde_json::json!({ "kind": "Pod", "apiVersion": "v1", "metadata": { "name": "yes" } });
/// assert_eq!(kube_tools::yaml::to_string(&pod)?, "apiVersion: v1\nkind: Pod\nmetadata:\n  name: \"yes\"\n");
/// # Ok::<(), kube_client::Error>(())
/// ```
///
/// # Errors
/// [`Error::SerdeError`] if it has no YAML form.
pub fn to_string(value: &Value) -> Result<String> {
    let options = serde_saphyr::ser_options! {
        compact_list_indent: true,
        folded_wrap_chars: usize::MAX,
    };
    let text = serde_saphyr::to_string_with_options(&sorted(value.clone()), options)
        .map_err(|err| Error::SerdeError(serde_json::Error::custom(err)))?;
    Ok(without_blank_indents(text, value))
}

/// The serializer indents the empty lines of a text. Without that, a repository that forbids spaces at the end of a line accepts the file.
/// Where such spaces are part of a text, they stay.
fn without_blank_indents(text: String, value: &Value) -> String {
    if !text.lines().any(|line| !line.is_empty() && line.trim().is_empty()) {
        return text;
    }
    let lines = text.lines().map(|line| if line.trim().is_empty() { "" } else { line });
    let cleaned: String = lines.flat_map(|line| [line, "\n"]).collect();
    let is_the_same = serde_saphyr::from_str::<Value>(&cleaned).is_ok_and(|read| read == *value);
    if is_the_same { cleaned } else { text }
}

/// With the fields in the order of their names.
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.into_iter().map(|(name, value)| (name, sorted(value))).collect();
            fields.sort_by(|(a, _), (b, _)| a.cmp(b));
            Value::Object(Map::from_iter(fields))
        }
        Value::Array(items) => items.into_iter().map(sorted).collect(),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_written_is_read_as_it_was() {
        let odd = [
            "yes",
            "No",
            "on",
            "~",
            "null",
            "012",
            "0x1f",
            "1e3",
            "1_000",
            "12:30:45",
            "2026-11-26",
            ".5",
            "-",
            "- a",
            "a: b",
            "a #b",
            "#",
            "",
            " ",
            " a",
            "a ",
            "{{ a }}",
            "[",
            "*a",
            "&a",
            "!a",
            "%a",
            "@a",
            "`a`",
            "'",
            "\"",
            "\\",
            "a\nb",
            "a\nb\n",
            "a\n\nb\n\n",
            " a\n b",
            "\ta",
            "\u{7f}",
            "é",
            "a\r\nb",
            "---",
            "...",
            "=",
            "<<",
            "| a",
            "> a",
            "a\u{2028}b",
        ];
        let long = "a word and ".repeat(40);
        let object = json!({
            "list": odd.to_vec(), "map": odd.iter().map(|it| ((*it).to_owned(), json!(it))).collect::<serde_json::Map<_, _>>(),
            "long": long, "empty": [{}, [], null, true, 1, -1.5, 1e300, u64::MAX, i64::MIN],
            "nested": [[["a"], []], [{ "b": [{ "c": 1 }] }]],
        });
        let text = to_string(&object).unwrap();
        assert_eq!(serde_saphyr::from_str::<Value>(&text).unwrap(), object, "{text}");
        assert!(text.contains(&long), "it is not folded");
    }

    #[test]
    fn fields_are_sorted_and_lists_not_indented() {
        let object = json!({ "kind": "A", "b": [{ "d": 1, "c": "x\ny\n" }], "a": {} });
        assert_eq!(to_string(&object).unwrap(), "a: {}\nb:\n- c: |\n    x\n    y\n  d: 1\nkind: A\n");
    }
}
