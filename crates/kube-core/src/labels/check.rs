//! Whether servers accept keys and values of labels and annotations.

use std::{collections::BTreeMap, fmt};

/// The longest name part of a key, and the longest value of a label.
const MAX_NAME: usize = 63;
/// The longest prefix of a key.
const MAX_PREFIX: usize = 253;
/// The most bytes that the annotations of an object have together.
const MAX_ANNOTATIONS: usize = 256 * 1024;

/// A key or value of a label or annotation that servers refuse. `{}` names it, and says what is expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} {text:?} is invalid: {problem}")]
pub struct InvalidLabel {
    what: &'static str,
    text: String,
    problem: Problem,
}

/// What is wrong with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Problem {
    Slashes,
    EmptyPrefix,
    LongPrefix,
    Prefix,
    EmptyName,
    LongName,
    Name,
    LongValue,
    Value,
    Size(usize),
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::Slashes => "expected a name, or a prefix and a name with one slash between them",
            Self::EmptyPrefix => {
                "the prefix before the slash is empty: expected a DNS name such as example.com"
            }
            Self::LongPrefix => "the prefix before the slash has more than 253 characters",
            Self::Prefix => {
                "expected a prefix of lower case letters, digits, '-' and '.', each part of which begins and ends with a letter or digit"
            }
            Self::EmptyName => "the name is empty",
            Self::LongName => "the name has more than 63 characters",
            Self::Name => {
                "expected a name of letters, digits, '-', '_' and '.' that begins and ends with a letter or digit"
            }
            Self::LongValue => "it has more than 63 characters",
            Self::Value => {
                "expected letters, digits, '-', '_' and '.', a letter or digit at both ends, or nothing"
            }
            Self::Size(size) => {
                return write!(
                    f,
                    "all annotations have {size} bytes together, expected at most {MAX_ANNOTATIONS}"
                );
            }
        };
        f.write_str(text)
    }
}

/// Checks the key of a label: `name` or `prefix/name`.
///
/// ```
/// use kube_core::labels::check_label_key;
///
/// assert!(check_label_key("app.kubernetes.io/name").is_ok());
/// assert_eq!(
///     check_label_key("shop/").unwrap_err().to_string(),
///     r#"label key "shop/" is invalid: the name is empty"#
/// );
/// ```
///
/// # Errors
///
/// [`InvalidLabel`], for exactly the keys that [apimachinery](https://pkg.go.dev/k8s.io/apimachinery/pkg/util/validation) refuses.
pub fn check_label_key(key: &str) -> Result<(), InvalidLabel> {
    check("label key", key, key_problem(key))
}

/// Checks the value of a label: at most 63 letters, digits, `-`, `_` and `.`.
///
/// ```
/// use kube_core::labels::check_label_value;
///
/// assert!(check_label_value("v1.2").is_ok() && check_label_value("").is_ok());
/// assert!(check_label_value("two words").is_err());
/// ```
///
/// # Errors
///
/// [`InvalidLabel`], for exactly the values that apimachinery refuses.
pub fn check_label_value(value: &str) -> Result<(), InvalidLabel> {
    check("label value", value, value_problem(value))
}

/// Checks the key of an annotation: as that of a label, but capital letters in the prefix are allowed. The value may be any text.
///
/// ```
/// use kube_core::labels::check_annotation_key;
///
/// assert!(check_annotation_key("Example.com/note").is_ok());
/// assert!(check_annotation_key("a/b/c").is_err());
/// ```
///
/// # Errors
///
/// [`InvalidLabel`], for exactly the keys that apimachinery refuses.
pub fn check_annotation_key(key: &str) -> Result<(), InvalidLabel> {
    check("annotation key", key, key_problem(&key.to_lowercase()))
}

/// Checks keys and values of all labels.
///
/// # Errors
///
/// The first that is invalid, in the order of the keys.
pub fn check_labels(labels: &BTreeMap<String, String>) -> Result<(), InvalidLabel> {
    labels.iter().try_for_each(|(key, value)| check_label_key(key).and_then(|()| check_label_value(value)))
}

/// Checks the keys of all annotations, and that they have at most 256 KiB together.
///
/// # Errors
///
/// The first key that is invalid, or the largest annotation if there is too much.
pub fn check_annotations(annotations: &BTreeMap<String, String>) -> Result<(), InvalidLabel> {
    annotations.keys().try_for_each(|key| check_annotation_key(key))?;
    let size: usize = annotations.iter().map(|(key, value)| key.len() + value.len()).sum();
    if size <= MAX_ANNOTATIONS {
        return Ok(());
    }
    let largest = annotations.iter().max_by_key(|(_, value)| value.len()).map_or("", |(key, _)| key);
    check("annotation", largest, Some(Problem::Size(size)))
}

fn check(what: &'static str, text: &str, problem: Option<Problem>) -> Result<(), InvalidLabel> {
    problem.map_or(Ok(()), |problem| Err(InvalidLabel { what, text: text.to_owned(), problem }))
}

fn key_problem(key: &str) -> Option<Problem> {
    let (prefix, name) = key.split_once('/').map_or((None, key), |(prefix, name)| (Some(prefix), name));
    match prefix {
        _ if name.contains('/') => return Some(Problem::Slashes),
        Some("") => return Some(Problem::EmptyPrefix),
        Some(prefix) if prefix.len() > MAX_PREFIX => return Some(Problem::LongPrefix),
        Some(prefix) if !prefix.split('.').all(is_dns_part) => return Some(Problem::Prefix),
        _ => {}
    }
    match name {
        "" => Some(Problem::EmptyName),
        _ if name.len() > MAX_NAME => Some(Problem::LongName),
        _ => (!is_word(name)).then_some(Problem::Name),
    }
}

fn value_problem(value: &str) -> Option<Problem> {
    match value.len() {
        0 => None,
        1..=MAX_NAME => (!is_word(value)).then_some(Problem::Value),
        _ => Some(Problem::LongValue),
    }
}

fn is_dns_part(part: &str) -> bool {
    let inner = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-';
    !part.is_empty() && part.bytes().all(inner) && !part.starts_with('-') && !part.ends_with('-')
}

fn is_word(text: &str) -> bool {
    text.bytes().all(|c| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'_' | b'.'))
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.ends_with(|c: char| c.is_ascii_alphanumeric())
}
