//! Tests of the checks of labels and annotations against apimachinery.

use super::{check_annotation_key, check_annotations, check_label_key, check_label_value, check_labels};

/// `go run . labels` in `testserver/generators/gotypes` has written it.
const RECORDED: &str = include_str!("recorded.txt");

#[test]
fn texts_are_accepted_that_apimachinery_accepts() {
    let mut checked = 0;
    for line in RECORDED.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let [kind, text, accepted] = fields[..] else { panic!("{line}") };
        // Go's quoted texts of these inputs are JSON.
        let quoted =
            || serde_json::from_str::<String>(text).unwrap_or_else(|error| panic!("{line}: {error}"));
        let result = match kind {
            "label-key" => check_label_key(&quoted()),
            "annotation-key" => check_annotation_key(&quoted()),
            "label-value" => check_label_value(&quoted()),
            "annotation-size" => {
                let size: usize = text.parse().unwrap();
                check_annotations(&[("a".to_owned(), "a".repeat(size - 1))].into())
            }
            _ => panic!("{line}"),
        };
        assert_eq!(result.is_ok().to_string(), accepted, "{line}: {result:?}");
        checked += 1;
    }
    assert!(checked > 90, "{checked}");
}

#[test]
fn an_error_names_the_text_and_what_is_expected() {
    let labels = |key: &str, value: &str| {
        check_labels(&[(key.to_owned(), value.to_owned())].into()).unwrap_err().to_string()
    };
    assert_eq!(
        labels("Shop.example/tier", "web"),
        "label key \"Shop.example/tier\" is invalid: expected a prefix of lower case letters, digits, '-' and '.', each part of which begins \
         and ends with a letter or digit"
    );
    assert_eq!(
        labels("tier", "web tier"),
        "label value \"web tier\" is invalid: expected letters, digits, '-', '_' and '.', a letter or digit at both ends, or nothing"
    );
    let large = [("note".to_owned(), "x".repeat(300_000)), ("small".to_owned(), String::new())].into();
    assert_eq!(
        check_annotations(&large).unwrap_err().to_string(),
        "annotation \"note\" is invalid: all annotations have 300009 bytes together, expected at most 262144"
    );
}
