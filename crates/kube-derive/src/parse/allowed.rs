//! Values that API servers accept in a definition. Any other is a compile error.

use syn::Meta;

use super::value::{invalid, string};

/// The rule for the value of an attribute: it returns what is expected if the text is not valid.
pub(super) type Check = fn(&str) -> Result<(), String>;

/// `name = "text"` with a valid text.
pub(super) fn checked(check: Check) -> impl Fn(&Meta) -> syn::Result<String> {
    move |item| {
        let text = string(item)?;
        check(&text).map_err(|expected| invalid(item, format!("expected {expected}")))?;
        Ok(text)
    }
}

/// The name of a column.
pub(super) fn name(text: &str) -> Result<(), String> {
    ensure(!text.is_empty(), "a name")
}

/// The type of a column.
pub(super) fn column_type(text: &str) -> Result<(), String> {
    one_of(text, &["boolean", "date", "integer", "number", "string"])
}

/// The format of a column.
pub(super) fn column_format(text: &str) -> Result<(), String> {
    if text.is_empty() {
        return Ok(());
    }
    one_of(text, &["byte", "date", "date-time", "double", "float", "int32", "int64", "password"])
}

/// The JSON path of a column.
pub(super) fn column_path(text: &str) -> Result<(), String> {
    ensure(text.starts_with('.'), "a JSON path that starts with `.`, such as `.spec.title`")
}

/// The JSON path of the desired number of replicas.
pub(super) fn spec_path(text: &str) -> Result<(), String> {
    ensure(below(text, ".spec."), "a JSON path below `.spec`, such as `.spec.replicas`")
}

/// The JSON path of the observed number of replicas.
pub(super) fn status_path(text: &str) -> Result<(), String> {
    ensure(below(text, ".status."), "a JSON path below `.status`, such as `.status.replicas`")
}

/// The JSON path of the label selector of the replicas.
pub(super) fn selector_path(text: &str) -> Result<(), String> {
    ensure(
        text.is_empty() || below(text, ".spec.") || below(text, ".status."),
        "a JSON path below `.spec` or `.status`, such as `.status.selector`",
    )
}

/// The JSON path of a field for field selectors.
pub(super) fn selectable_path(text: &str) -> Result<(), String> {
    ensure(
        text.starts_with('.') && text.len() > 1 && !text.contains('[') && !below(text, ".metadata."),
        "a JSON path to a field outside of `.metadata`, without an index, such as `.spec.title`",
    )
}

fn below(text: &str, prefix: &str) -> bool {
    text.strip_prefix(prefix).is_some_and(|rest| !rest.is_empty())
}

fn one_of(text: &str, allowed: &[&str]) -> Result<(), String> {
    ensure(allowed.contains(&text), &format!("one of `{}`", allowed.join("`, `")))
}

fn ensure(valid: bool, expected: &str) -> Result<(), String> {
    if valid { Ok(()) } else { Err(expected.to_owned()) }
}
