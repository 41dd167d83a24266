//! Values that API servers accept in a definition. Any other is a compile error.

use std::marker::PhantomData;

use darling::{Error, FromMeta};
use syn::Expr;

/// The rule for the value of an attribute.
pub(crate) trait Check {
    /// Returns what is expected if the text is not valid.
    fn check(text: &str) -> Result<(), String>;
}

/// A valid text.
pub(crate) struct Checked<C>(String, PhantomData<C>);

impl<C> From<Checked<C>> for String {
    fn from(checked: Checked<C>) -> Self {
        checked.0
    }
}

impl<C: Check> FromMeta for Checked<C> {
    fn from_expr(expr: &Expr) -> darling::Result<Self> {
        let text = String::from_expr(expr)?;
        match C::check(&text) {
            Ok(()) => Ok(Self(text, PhantomData)),
            Err(expected) => Err(Error::custom(format!("expected {expected}")).with_span(expr)),
        }
    }
}

/// The name of a column.
pub(crate) struct Name;

impl Check for Name {
    fn check(text: &str) -> Result<(), String> {
        ensure(!text.is_empty(), "a name")
    }
}

/// The type of a column.
pub(crate) struct ColumnType;

impl Check for ColumnType {
    fn check(text: &str) -> Result<(), String> {
        one_of(text, &["boolean", "date", "integer", "number", "string"])
    }
}

/// The format of a column.
pub(crate) struct ColumnFormat;

impl Check for ColumnFormat {
    fn check(text: &str) -> Result<(), String> {
        if text.is_empty() {
            return Ok(());
        }
        one_of(text, &["byte", "date", "date-time", "double", "float", "int32", "int64", "password"])
    }
}

/// The JSON path of a column.
pub(crate) struct ColumnPath;

impl Check for ColumnPath {
    fn check(text: &str) -> Result<(), String> {
        ensure(text.starts_with('.'), "a JSON path that starts with `.`, such as `.spec.title`")
    }
}

/// The JSON path of the desired number of replicas.
pub(crate) struct SpecPath;

impl Check for SpecPath {
    fn check(text: &str) -> Result<(), String> {
        ensure(below(text, ".spec."), "a JSON path below `.spec`, such as `.spec.replicas`")
    }
}

/// The JSON path of the observed number of replicas.
pub(crate) struct StatusPath;

impl Check for StatusPath {
    fn check(text: &str) -> Result<(), String> {
        ensure(below(text, ".status."), "a JSON path below `.status`, such as `.status.replicas`")
    }
}

/// The JSON path of the label selector of the replicas.
pub(crate) struct SelectorPath;

impl Check for SelectorPath {
    fn check(text: &str) -> Result<(), String> {
        ensure(
            text.is_empty() || below(text, ".spec.") || below(text, ".status."),
            "a JSON path below `.spec` or `.status`, such as `.status.selector`",
        )
    }
}

/// The JSON path of a field for field selectors.
pub(crate) struct SelectablePath;

impl Check for SelectablePath {
    fn check(text: &str) -> Result<(), String> {
        ensure(
            text.starts_with('.') && text.len() > 1 && !text.contains('[') && !below(text, ".metadata."),
            "a JSON path to a field outside of `.metadata`, without an index, such as `.spec.title`",
        )
    }
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
