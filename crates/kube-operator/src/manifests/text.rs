//! Objects as YAML: fields sorted, strings of several lines as blocks, one line for each other one.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{error::ManifestsError, placement::title};

/// One document, with a line end.
pub(super) fn yaml(object: &Value) -> Result<String, ManifestsError> {
    let options = serde_saphyr::ser_options! {
        compact_list_indent: true,
        // No line is folded: a change of one word is a change of one line.
        folded_wrap_chars: usize::MAX,
    };
    serde_saphyr::to_string_with_options(&sorted(object.clone()), options)
        .map_err(|error| ManifestsError::Yaml { object: title(object), reason: error.to_string() })
}

/// With the fields in the order of their names, whatever features of `serde_json` the program has.
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields: BTreeMap<_, _> = fields.into_iter().collect();
            fields.into_iter().map(|(name, value)| (name, sorted(value))).collect()
        }
        Value::Array(items) => items.into_iter().map(sorted).collect(),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

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
        let text = yaml(&object).unwrap();
        assert_eq!(serde_saphyr::from_str::<Value>(&text).unwrap(), object, "{text}");
        assert!(text.contains(&long), "it is not folded");
    }

    #[test]
    fn fields_are_sorted_and_lists_not_indented() {
        let object = json!({ "kind": "A", "b": [{ "d": 1, "c": "x\ny\n" }], "a": {} });
        assert_eq!(yaml(&object).unwrap(), "a: {}\nb:\n- c: |\n    x\n    y\n  d: 1\nkind: A\n");
    }
}
