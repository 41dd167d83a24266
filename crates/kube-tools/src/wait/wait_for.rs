//! [`WaitFor`]: the conditions of `kubectl wait --for`.

use std::fmt;
use std::str::FromStr;

use kube_core::DynamicObject;
use serde_json::Value;
use thiserror::Error;

use super::json_path::{JsonPath, JsonPathError};
use crate::ready::Readiness;

/// What to wait for, as in `kubectl wait --for=…`. It is parsed from the same text.
///
/// ```
/// use kube_tools::wait::WaitFor;
///
/// let available: WaitFor = "condition=Available".parse()?;
/// assert_eq!(available, WaitFor::condition("Available"));
/// let running: WaitFor = "jsonpath={.status.phase}=Running".parse()?;
/// assert_eq!(running.to_string(), "jsonpath={.status.phase}=Running");
/// let _: WaitFor = r#"jsonpath={.status.conditions[?(@.type=="Ready")].status}=True"#.parse()?;
/// assert_eq!("delete".parse(), Ok(WaitFor::Delete));
/// # Ok::<(), kube_tools::wait::InvalidWaitFor>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum WaitFor {
    /// `condition=type[=status]`: the entry of `status.conditions` has this status, and is about the current generation of the object
    /// where it says so. Type and status are compared without regard to case.
    Condition {
        /// Its type.
        type_: String,
        /// Its status; `true` by default.
        status: String,
    },
    /// `jsonpath={path}[=value]`: the path selects this one value, or without a value anything.
    JsonPath {
        /// The path.
        path: JsonPath,
        /// The text of the value: of a string its characters, of others their JSON. White space around both is ignored.
        value: Option<String>,
    },
    /// `create`: the object exists.
    Create,
    /// `delete`: the object does not exist, or is another one of this name.
    Delete,
}

impl WaitFor {
    /// The condition `type_` is true.
    #[must_use]
    pub fn condition(type_: &str) -> Self {
        Self::Condition { type_: type_.to_owned(), status: "true".to_owned() }
    }

    /// Whether it holds for an object, or for `None` if there is none.
    ///
    /// # Errors
    /// If a path that is compared with a value selects several values, or one with fields or items.
    ///
    /// ```
    /// use kube_client::api::DynamicObject;
    /// use kube_tools::wait::WaitFor;
    ///
    /// let pod: DynamicObject = serde_json::from_value(serde_json::json!({ "metadata": {}, "status": { "phase": "Running" } }))?;
    /// let running: WaitFor = "jsonpath={.status.phase}=Running".parse()?;
    /// assert!(running.holds(Some(&pod))?);
    /// assert!(!running.holds(None)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn holds(&self, object: Option<&DynamicObject>) -> Result<bool, WaitForError> {
        match (self, object) {
            (Self::Delete, object) => Ok(object.is_none()),
            (_, None) => Ok(false),
            (Self::Create, Some(_)) => Ok(true),
            (Self::Condition { type_, status }, Some(object)) => Ok(has_condition(object, type_, status)),
            (Self::JsonPath { path, value }, Some(object)) => {
                // Metadata is typed; a path may lead into it.
                let object = serde_json::to_value(object).unwrap_or_default();
                compare(path, &path.select(&object), value.as_deref())
            }
        }
    }

    /// What is known about an object for which it does not hold.
    pub(super) fn missing(&self, object: &DynamicObject) -> Option<String> {
        match self {
            Self::Delete => Some(match object.metadata.deletion_timestamp {
                Some(_) => format!("it {}", Readiness::of_dynamic(object).message),
                None => "nobody has deleted it".to_owned(),
            }),
            Self::Condition { type_, .. } => Some(match condition(object, type_) {
                None => "it has no such condition".to_owned(),
                Some(Condition { status, generations: Some((observed, current)) }) if observed < current => {
                    format!(
                        "the condition is {status} for generation {observed}, and the current one is {current}"
                    )
                }
                Some(Condition { status, .. }) => format!("the condition is {status}"),
            }),
            Self::JsonPath { .. } | Self::Create => None,
        }
    }
}

fn has_condition(object: &DynamicObject, type_: &str, status: &str) -> bool {
    condition(object, type_).is_some_and(|condition| {
        !condition.is_stale() && condition.status.to_lowercase() == status.to_lowercase()
    })
}

/// A condition, with the generation that it is about and the current one.
struct Condition<'a> {
    status: &'a str,
    generations: Option<(i64, i64)>,
}

impl Condition<'_> {
    fn is_stale(&self) -> bool {
        self.generations.is_some_and(|(observed, current)| observed < current)
    }
}

fn condition<'a>(object: &'a DynamicObject, type_: &str) -> Option<Condition<'a>> {
    let in_status = |field: &str| object.data.get("status").and_then(|status| status.get(field));
    let type_ = type_.to_lowercase();
    let mut conditions = in_status("conditions").and_then(Value::as_array).into_iter().flatten();
    let condition = conditions.find(|it| text(it, "type").to_lowercase() == type_)?;
    let observed = condition.get("observedGeneration").or_else(|| in_status("observedGeneration"));
    Some(Condition {
        status: text(condition, "status"),
        generations: observed.and_then(Value::as_i64).zip(object.metadata.generation),
    })
}

fn text<'a>(condition: &'a Value, field: &str) -> &'a str {
    condition.get(field).and_then(Value::as_str).unwrap_or_default()
}

fn compare(path: &JsonPath, selected: &[&Value], expected: Option<&str>) -> Result<bool, WaitForError> {
    match (selected, expected) {
        ([], _) => Ok(false),
        (_, None) => Ok(true),
        ([Value::Object(_) | Value::Array(_)], Some(_)) => Err(WaitForError::Nested(path.clone())),
        // Both sides are trimmed, as kubectl does.
        ([Value::String(text)], Some(expected)) => Ok(text.trim() == expected.trim()),
        ([scalar], Some(expected)) => Ok(format!("{scalar}") == expected.trim()),
        (several, Some(_)) => Err(WaitForError::Several { path: path.clone(), count: several.len() }),
    }
}

/// Why a condition cannot be evaluated.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum WaitForError {
    /// The path is compared with a value, and leads to fields or items.
    #[error(
        "the JSON path `{0}` leads to an object or a list: expected a string, a number or a boolean to compare"
    )]
    Nested(JsonPath),
    /// The path is compared with a value, and selects several.
    #[error("the JSON path `{path}` selects {count} values: expected one to compare")]
    Several {
        /// The path.
        path: JsonPath,
        /// How many it selects.
        count: usize,
    },
}

impl FromStr for WaitFor {
    type Err = InvalidWaitFor;

    fn from_str(text: &str) -> Result<Self, InvalidWaitFor> {
        let invalid = |expected: &'static str| InvalidWaitFor::Syntax { text: text.to_owned(), expected };
        match text.split_once('=') {
            None if text.eq_ignore_ascii_case("create") => Ok(Self::Create),
            None if text.eq_ignore_ascii_case("delete") => Ok(Self::Delete),
            Some(("condition", rest)) => {
                let (type_, status) = rest.split_once('=').unwrap_or((rest, "true"));
                if type_.is_empty() || status.is_empty() {
                    return Err(invalid("a type, and a status after a second `=`"));
                }
                Ok(Self::Condition { type_: type_.to_owned(), status: status.to_owned() })
            }
            Some(("jsonpath", rest)) => {
                let (path, value) = split_value(rest);
                let path = path.parse()?;
                let value = match value {
                    None => None,
                    Some(value) => {
                        let value =
                            value.strip_prefix('=').ok_or_else(|| invalid("`=` or the end after `}`"))?;
                        let value = value.trim_matches(['\'', '"']);
                        if value.is_empty() {
                            return Err(invalid("a value after `=`"));
                        }
                        Some(value.to_owned())
                    }
                };
                Ok(Self::JsonPath { path, value })
            }
            _ => Err(invalid("`condition=type[=status]`, `jsonpath={path}[=value]`, `create` or `delete`")),
        }
    }
}

/// The path, and what follows it: in braces, after the closing one; otherwise from the first `=` that is not in brackets.
fn split_value(text: &str) -> (&str, Option<&str>) {
    let braces = text.starts_with('{');
    let (mut quote, mut brackets) = (None, 0_usize);
    let mut chars = text.char_indices();
    while let Some((at, next)) = chars.next() {
        match (quote, next) {
            (_, '\\') => drop(chars.next()),
            (Some(open), next) if open == next => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(next),
            (None, '[') => brackets += 1,
            (None, ']') => brackets = brackets.saturating_sub(1),
            (None, '}') if braces => {
                let (path, rest) = text.split_at(at + 1);
                return (path, (!rest.is_empty()).then_some(rest));
            }
            (None, '=') if !braces && brackets == 0 => {
                let (path, rest) = text.split_at(at);
                return (path, Some(rest));
            }
            _ => {}
        }
    }
    (text, None)
}

/// A text that is not a condition to wait for.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum InvalidWaitFor {
    /// It is none of the forms.
    #[error("cannot wait for `{text}`: expected {expected}")]
    Syntax {
        /// The text.
        text: String,
        /// What was expected.
        expected: &'static str,
    },
    /// The path in it cannot be parsed.
    #[error(transparent)]
    JsonPath(#[from] JsonPathError),
}

impl fmt::Display for WaitFor {
    /// The text of `--for`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Condition { type_, status } if status == "true" => write!(f, "condition={type_}"),
            Self::Condition { type_, status } => write!(f, "condition={type_}={status}"),
            Self::JsonPath { path, value: None } => write!(f, "jsonpath={path}"),
            Self::JsonPath { path, value: Some(value) } => write!(f, "jsonpath={path}={value}"),
            Self::Create => f.write_str("create"),
            Self::Delete => f.write_str("delete"),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn holds(condition: &str, object: Value) -> Result<bool, WaitForError> {
        let condition: WaitFor = condition.parse().unwrap_or_else(|err| panic!("{err}"));
        condition.holds(Some(&serde_json::from_value(object).unwrap()))
    }

    #[test]
    fn conditions_are_compared_without_case_and_by_generation() {
        let with = |generation: i64, condition: Value| json!({ "metadata": { "generation": generation }, "status": { "conditions": [condition] } });
        let ready = json!({ "type": "Ready", "status": "True" });
        assert_eq!(holds("condition=ready", with(3, ready.clone())), Ok(true));
        assert_eq!(holds("condition=Ready=TRUE", with(3, ready.clone())), Ok(true));
        assert_eq!(holds("condition=Ready=False", with(3, ready.clone())), Ok(false));
        assert_eq!(holds("condition=Available", with(3, ready.clone())), Ok(false));
        assert_eq!(holds("condition=Ready", json!({ "metadata": {} })), Ok(false));
        for (observed, expected) in [(2, false), (3, true)] {
            let condition = json!({ "type": "Ready", "status": "True", "observedGeneration": observed });
            assert_eq!(holds("condition=Ready", with(3, condition)), Ok(expected), "{observed}");
            let mut object = with(3, ready.clone());
            object["status"]["observedGeneration"] = observed.into();
            assert_eq!(holds("condition=Ready", object), Ok(expected), "{observed}");
        }
    }

    #[test]
    fn it_is_told_what_is_missing() {
        let object = |json: Value| serde_json::from_value::<DynamicObject>(json).unwrap();
        let ready = WaitFor::condition("Ready");
        let with = |condition: Value| {
            object(json!({ "metadata": { "generation": 3 }, "status": { "conditions": [condition] } }))
        };
        let missing = |json: Value| ready.missing(&with(json)).unwrap();
        assert_eq!(
            missing(json!({ "type": "Ready", "status": "True", "observedGeneration": 2 })),
            "the condition is True for generation 2, and the current one is 3"
        );
        assert_eq!(missing(json!({ "type": "ready", "status": "False" })), "the condition is False");
        assert_eq!(missing(json!({ "type": "Other" })), "it has no such condition");
        let deleted = object(
            json!({ "metadata": { "deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["a"] } }),
        );
        assert_eq!(WaitFor::Delete.missing(&deleted).unwrap(), "it is being deleted, after the finalizers a");
        assert_eq!(
            WaitFor::Delete.missing(&object(json!({ "metadata": {} }))).unwrap(),
            "nobody has deleted it"
        );
    }

    /// What kubectl 1.37 does with each.
    #[test]
    fn paths_are_compared_by_text() {
        let object = json!({ "metadata": { "name": "p" }, "spec": { "replicas": 3, "paused": true, "list": [1, 2], "empty": "", "spaces": " x " } });
        for (condition, expected) in [
            ("jsonpath={.spec.replicas}=3", true),
            ("jsonpath={.spec.replicas}=4", false),
            ("jsonpath=.spec.replicas=3", true),
            ("jsonpath=spec.paused=true", true),
            ("jsonpath={.metadata.name}='p'", true),
            (r#"jsonpath={.metadata.name}="p""#, true),
            ("jsonpath={.metadata.name}= p ", true),
            ("jsonpath={.metadata.name}=' p '", true),
            ("jsonpath={.metadata.name}= 'p' ", false),
            ("jsonpath={.spec.spaces}=x", true),
            ("jsonpath={.spec.empty}=' '", true),
            ("jsonpath={.spec.replicas}= 3", true),
            ("jsonpath={.spec.nope}=3", false),
            ("jsonpath={.spec.nope}", false),
            ("jsonpath={.spec.list}", true),
            ("jsonpath={.spec.list[0]}=1", true),
            ("jsonpath={.spec.list[?(@==2)]}=2", true),
            ("jsonpath=.spec.list[?(@==2)]=2", true),
        ] {
            assert_eq!(holds(condition, object.clone()), Ok(expected), "{condition}");
        }
        let err = holds("jsonpath={.spec.list}=3", object.clone()).unwrap_err().to_string();
        assert!(err.contains("`{.spec.list}` leads to an object or a list"), "{err}");
        let err = holds("jsonpath={.spec.list[*]}=3", object).unwrap_err().to_string();
        assert!(err.contains("selects 2 values: expected one"), "{err}");
    }

    #[test]
    fn existence_needs_no_path() {
        assert_eq!(WaitFor::Create.holds(None), Ok(false));
        assert_eq!(WaitFor::Delete.holds(None), Ok(true));
        let object = serde_json::from_value(json!({ "metadata": {} })).unwrap();
        assert_eq!(WaitFor::Create.holds(Some(&object)), Ok(true));
        assert_eq!(WaitFor::Delete.holds(Some(&object)), Ok(false));
    }

    #[test]
    fn texts_are_read_as_kubectl_reads_them_and_errors_say_what_was_expected() {
        for text in [
            "condition=Ready",
            "condition=Ready=false",
            "jsonpath={.a}",
            "jsonpath={.a[?(@.b=='}')]}=b=c",
            "create",
            "delete",
        ] {
            assert_eq!(text.parse::<WaitFor>().unwrap_or_else(|err| panic!("{err}")).to_string(), text);
        }
        for (text, expected) in [
            ("", "cannot wait for ``: expected `condition=type[=status]`"),
            ("ready", "expected `condition=type[=status]`"),
            ("condition", "expected `condition=type[=status]`"),
            ("condition=", "expected a type"),
            ("condition=Ready=", "expected a type, and a status"),
            ("jsonpath=", "invalid JSON path ``, at character 1"),
            ("jsonpath={.a}=", "expected a value after `=`"),
            ("jsonpath={.a}=''", "expected a value after `=`"),
            ("jsonpath={.a}b", "expected `=` or the end after `}`"),
            ("jsonpath={.a[}=b", "invalid JSON path `{.a[}`, at character 5"),
        ] {
            let err = text.parse::<WaitFor>().expect_err(text).to_string();
            assert!(err.contains(expected), "{text}: {err}");
        }
    }
}
