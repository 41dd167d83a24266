//! [`JsonPath`]: the JSON paths of kubectl, parsed and evaluated.

// From text to steps, and from steps to values.
mod parse;
mod select;
mod step;

use std::fmt;
use std::str::FromStr;

use serde_json::Value;

pub use parse::JsonPathError;
use step::Step;

/// A JSON path as kubectl reads it, in `kubectl wait --for=jsonpath=…` and `-o jsonpath=…`.
///
/// Braces and the first dot may be left out, as in `kubectl wait`: `{.status.phase}`, `.status.phase` and `status.phase` are one path.
///
/// | syntax | selects |
/// |---|---|
/// | `.field`, `['field']` | a field; in quotes too, dots separate fields |
/// | `.app\.kubernetes\.io/name` | a field whose name contains dots |
/// | `.*`, `[*]` | every field, every item |
/// | `..` | the value and everything below it |
/// | `[0]`, `[-1]`, `[1:3]`, `[::2]` | items by position, from the end, in a range, with a step |
/// | `[0,2]`, `['a','b']` | several of these |
/// | `[?(@.type=="Ready")]` | the items for which it holds: `==`, `!=`, `<`, `<=`, `>`, `>=` |
/// | `[?(@.ports)]` | the items that have it |
///
/// What is not there is not an error: the path selects nothing. In this it is more tolerant than kubectl, for which an index
/// beyond the end of a list and a comparison of a number with a string are errors; while one waits, they mean "not yet".
///
/// Not supported are the parts of kubectl's templates that format text: several expressions, text between them, `range` and `end`.
///
/// ```
/// use kube_tools::wait::JsonPath;
/// use serde_json::json;
///
/// let pod = json!({ "status": { "conditions": [{ "type": "Ready", "status": "True" }] } });
/// let ready: JsonPath = r#"{.status.conditions[?(@.type=="Ready")].status}"#.parse()?;
/// assert_eq!(ready.select(&pod), [&json!("True")]);
///
/// let err = "{.status.conditions[?(@.type==]}".parse::<JsonPath>().unwrap_err();
/// assert!(err.to_string().contains("at character 31: expected a path, a string or a number"), "{err}");
/// # Ok::<(), kube_tools::wait::JsonPathError>(())
/// ```
///
/// # Cost
/// One walk over the part of the value that the path names; `..` walks over everything below its value.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonPath {
    text: String,
    steps: Vec<Step>,
}

impl JsonPath {
    /// The values that the path selects, in the order of the document. Fields of an object are in alphabetical order.
    #[must_use]
    pub fn select<'a>(&self, value: &'a Value) -> Vec<&'a Value> {
        select::select(&self.steps, value)
    }
}

impl FromStr for JsonPath {
    type Err = JsonPathError;

    fn from_str(text: &str) -> Result<Self, JsonPathError> {
        Ok(Self { text: text.to_owned(), steps: parse::parse(text)? })
    }
}

impl fmt::Display for JsonPath {
    /// As it was written.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod() -> Value {
        json!({
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": { "name": "p", "labels": { "app.kubernetes.io/name": "web", "a-b": "c", "zz": "y" } },
            "spec": { "containers": [
                { "name": "a", "image": "i", "ports": [{ "containerPort": 80 }, { "containerPort": 81 }] },
                { "name": "b", "image": "j" },
                { "name": "c", "image": "j" },
            ] },
        })
    }

    fn selected(path: &str) -> Vec<Value> {
        let path: JsonPath = path.parse().unwrap_or_else(|err| panic!("{err}"));
        path.select(&pod()).into_iter().cloned().collect()
    }

    /// Recorded from `kubectl label --local -f pod.yaml zz=y -o jsonpath=…`, kubectl 1.37.2.
    #[test]
    fn paths_select_what_kubectl_selects() {
        for (path, expected) in [
            (r"{.metadata.labels.app\.kubernetes\.io/name}", json!(["web"])),
            (r"{.metadata.labels['app\.kubernetes\.io/name']}", json!(["web"])),
            ("{.metadata.labels['app.kubernetes.io/name']}", json!([])),
            ("{.metadata.labels['a-b','zz']}", json!(["c", "y"])),
            ("{.metadata.labels.a-b}", json!(["c"])),
            ("{.metadata['name','labels.zz']}", json!(["p", "y"])),
            ("{..image}", json!(["i", "j", "j"])),
            ("{..name}", json!(["p", "a", "b", "c"])),
            ("{.metadata..name}", json!(["p"])),
            ("{.spec.containers[-1].name}", json!(["c"])),
            ("{.spec.containers[0:2].name}", json!(["a", "b"])),
            ("{.spec.containers[::2].name}", json!(["a", "c"])),
            ("{.spec.containers[0,2].name}", json!(["a", "c"])),
            ("{.spec.containers[0:1,2].name}", json!(["a", "c"])),
            ("{.spec.containers[-2:].name}", json!(["b", "c"])),
            ("{.spec.containers[*].name}", json!(["a", "b", "c"])),
            (r#"{.spec.containers[?(@.name=="b")].image}"#, json!(["j"])),
            ("{.spec.containers[?(@.name=='b')].image}", json!(["j"])),
            (r#"{.spec.containers[?(.name=="b")].image}"#, json!(["j"])),
            (r#"{.spec.containers[?("b"==@.name)].name}"#, json!(["b"])),
            (r#"{.spec.containers[?(@.name!="b")].name}"#, json!(["a", "c"])),
            (r#"{.spec.containers[?(@.name=="b=c")].name}"#, json!([])),
            (r#"{.spec.containers[?(@.nope=="b")].name}"#, json!([])),
            ("{.spec.containers[?(@.ports)].name}", json!(["a"])),
            ("{.spec.containers[?(@.ports[0].containerPort>79)].name}", json!(["a"])),
            (
                "{.spec.containers[?(@.ports[0].containerPort==80)].ports[?(@.containerPort>80)].containerPort}",
                json!([81]),
            ),
            (r#"{.spec.containers[?(@.name=="b")]}"#, json!([{ "name": "b", "image": "j" }])),
            ("{$.metadata.name}", json!(["p"])),
            ("{@.metadata.name}", json!(["p"])),
            ("{ .metadata.name }", json!(["p"])),
            ("{.spec.containers.name}", json!([])),
        ] {
            assert_eq!(Value::Array(selected(path)), expected, "{path}");
        }
        assert_eq!(selected("{}"), [pod()]);
    }

    /// kubectl refuses these. While one waits, they mean "not yet".
    #[test]
    fn what_is_not_there_selects_nothing() {
        for path in [
            "{.spec.containers[5].name}",
            "{.spec.containers[-5].name}",
            "{.spec.containers[1:0].name}",
            r#"{.spec.containers[?(@.ports[0].containerPort=="80")].name}"#,
            "{.spec.containers[?(@.ports[*].containerPort==80)].name}",
        ] {
            assert_eq!(selected(path), [] as [Value; 0], "{path}");
        }
        assert_eq!(selected("{.spec.containers[0:9].name}").len(), 3);
    }

    #[test]
    fn braces_and_the_first_dot_may_be_left_out() {
        for path in
            ["{.metadata.name}", ".metadata.name", "metadata.name", "{metadata.name}", "$.metadata.name"]
        {
            assert_eq!(selected(path), [json!("p")], "{path}");
        }
    }

    #[test]
    fn errors_say_where_and_what_was_expected() {
        for (path, position, message) in [
            ("", 1, "expected a path"),
            ("{.metadata.name", 16, "expected `}`"),
            ("{.metadata.}", 12, "expected a field name"),
            ("{.a...b}", 6, "expected a field name"),
            ("{.a}{.b}", 5, "expected the end: only one expression"),
            ("{.a} text", 5, "expected the end: only one expression"),
            ("{range .items[*]}", 7, "expected `.`, `[` or the end"),
            ("{.a[]}", 5, "expected a position, a name in quotes, `*` or `?(`"),
            ("{.a[b]}", 5, "expected a position, a name in quotes, `*` or `?(`"),
            ("{.a[0}", 6, "expected `]` or `,`"),
            ("{.a[1:2:0]}", 9, "expected a step of at least 1"),
            ("{.a[1:2:-1]}", 9, "expected a step of at least 1"),
            ("{.a[99999999999999999999]}", 5, "is not a position"),
            ("{.a['b]}", 5, "expected a closing `'`"),
            (r#"{.a[?(@.b=="c"]}"#, 15, "expected `)`"),
            (r#"{.a[?(@.b=="c" && @.d)]}"#, 16, "expected `)`"),
            ("{.a[?(@.b==c)]}", 12, "expected a path, a string or a number"),
            ("{.a[?(@.b=~'c')]}", 10, "expected `==`, `!=`, `<`, `<=`, `>`, `>=` or `)`"),
            ("{.a[?(@.b=", 10, "expected `==`, `!=`, `<`, `<=`, `>`, `>=` or `)`"),
            (".a b", 3, "expected `.`, `[` or the end"),
            (r"{.a\", 5, "expected a character after `\\`"),
        ] {
            let err = path.parse::<JsonPath>().expect_err(path);
            assert_eq!((err.position, err.path.as_str()), (position, path), "{err}");
            assert!(err.message.contains(message), "{path}: {err}");
        }
    }

    #[test]
    fn nested_filters_are_limited_not_a_stack_overflow() {
        let deep = format!(".a{}", "[?(@.a".repeat(100_000));
        let err = deep.parse::<JsonPath>().expect_err("too deep");
        assert!(err.message.contains("at most 16 filters inside each other"), "{}", err.message);
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(text in r#"[{}.\[\]a*0-9:,'"?()@$=<>!\\ ü-]{0,24}"#) {
            if let Ok(path) = text.parse::<JsonPath>() {
                let _ = path.select(&pod());
            }
        }
    }
}
