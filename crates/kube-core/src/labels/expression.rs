//! A condition on one label: one requirement of a selector.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt, option,
};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelectorRequirement;
use serde::{Deserialize, Serialize};

use super::ext::{Sealed, SelectorExt};

/// A label selector, or one of its requirements, is not valid. The field is the reason, for parsed text with the position.
///
/// ```
/// use kube_core::Selector;
/// let error = "app=web tier".parse::<Selector>().expect_err("no comma");
/// assert_eq!(error.to_string(), r#"failed to parse value as expression: "app=web tier": expected a comma or the end at byte 8, found "tier""#);
/// ```
#[derive(Debug, thiserror::Error)]
#[error("failed to parse value as expression: {0}")]
pub struct ParseExpressionError(pub String);

/// A condition on one label.
///
/// The negative conditions ([`NotEqual`](Self::NotEqual), [`NotIn`](Self::NotIn)) also match objects without the label, as on
/// the server. Keys and values are validated only when they are parsed from text.
///
/// Converts from `LabelSelectorRequirement`, the form in objects. Display prints the syntax of the API and kubectl.
///
/// ```
/// use kube_core::{Expression, SelectorExt};
/// use std::collections::BTreeMap;
///
/// let (prod, absent) = (BTreeMap::from([("tier".into(), "prod".into())]), BTreeMap::new());
/// let values = ["prod".into(), "test".into()];
/// for (expression, text, on_prod, on_absent) in [
///     (Expression::In("tier".into(), values.clone().into()), "tier in (prod,test)", true, false),
///     (Expression::NotIn("tier".into(), values.into()), "tier notin (prod,test)", false, true),
///     (Expression::Equal("tier".into(), "prod".into()), "tier=prod", true, false),
///     (Expression::NotEqual("tier".into(), "prod".into()), "tier!=prod", false, true),
///     (Expression::Exists("tier".into()), "tier", true, false),
///     (Expression::DoesNotExist("tier".into()), "!tier", false, true),
/// ] {
///     assert_eq!(expression.to_string(), text);
///     assert_eq!((expression.matches(&prod), expression.matches(&absent)), (on_prod, on_absent), "{text}");
/// }
/// ```
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
pub enum Expression {
    /// The label is present with one of the values: `key in (a,b)`. Without values nothing matches: printed as `key,!key`,
    /// because servers parse `key in ()` as the empty value.
    In(String, BTreeSet<String>),
    /// The label is absent or has none of the values: `key notin (a,b)`. Without values everything matches: printed as the
    /// empty string.
    NotIn(String, BTreeSet<String>),
    /// The label is present with the value: `key=a`.
    Equal(String, String),
    /// The label is absent or has another value: `key!=a`.
    NotEqual(String, String),
    /// The label is present: `key`.
    Exists(String),
    /// The label is absent: `!key`.
    DoesNotExist(String),
}

impl Sealed for Expression {}

impl SelectorExt for Expression {
    type Search = BTreeMap<String, String>;

    fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        match self {
            Self::In(key, values) => labels.get(key).is_some_and(|v| values.contains(v)),
            Self::NotIn(key, values) => labels.get(key).is_none_or(|v| !values.contains(v)),
            Self::Equal(key, value) => labels.get(key) == Some(value),
            Self::NotEqual(key, value) => labels.get(key) != Some(value),
            Self::Exists(key) => labels.contains_key(key),
            Self::DoesNotExist(key) => !labels.contains_key(key),
        }
    }
}

impl fmt::Display for Expression {
    /// The syntax of the API and kubectl.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::In(key, values) if values.is_empty() => write!(f, "{key},!{key}"),
            Self::NotIn(_, values) if values.is_empty() => Ok(()),
            Self::In(key, values) => write!(f, "{key} in ({})", CommaSeparated(values)),
            Self::NotIn(key, values) => write!(f, "{key} notin ({})", CommaSeparated(values)),
            Self::Equal(key, value) => write!(f, "{key}={value}"),
            Self::NotEqual(key, value) => write!(f, "{key}!={value}"),
            Self::Exists(key) => f.write_str(key),
            Self::DoesNotExist(key) => write!(f, "!{key}"),
        }
    }
}

impl Expression {
    /// Whether everything matches, so that the selector prints nothing for it.
    pub(super) fn selects_all(&self) -> bool {
        matches!(self, Self::NotIn(_, values) if values.is_empty())
    }
}

struct CommaSeparated<'a>(&'a BTreeSet<String>);

impl fmt::Display for CommaSeparated<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, value) in self.0.iter().enumerate() {
            f.write_str(if i == 0 { "" } else { "," })?;
            f.write_str(value)?;
        }
        Ok(())
    }
}

impl IntoIterator for Expression {
    type Item = Self;
    type IntoIter = option::IntoIter<Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        Some(self).into_iter()
    }
}

impl TryFrom<LabelSelectorRequirement> for Expression {
    type Error = ParseExpressionError;

    /// # Errors
    ///
    /// An unknown operator, `In` or `NotIn` without values, `Exists` or `DoesNotExist` with values.
    fn try_from(requirement: LabelSelectorRequirement) -> Result<Self, Self::Error> {
        let LabelSelectorRequirement { key, operator, values } = requirement;
        let values: BTreeSet<String> = values.unwrap_or_default().into_iter().collect();
        let fail =
            |what: &str| Err(ParseExpressionError(format!("key {key:?}: operator {operator:?} {what}")));
        match (operator.as_str(), values.is_empty()) {
            ("In" | "NotIn", true) => fail("needs at least one value"),
            ("Exists" | "DoesNotExist", false) => fail("must not have values"),
            ("In", false) => Ok(Self::In(key, values)),
            ("NotIn", false) => Ok(Self::NotIn(key, values)),
            ("Exists", true) => Ok(Self::Exists(key)),
            ("DoesNotExist", true) => Ok(Self::DoesNotExist(key)),
            _ => fail("is unknown, expected In, NotIn, Exists or DoesNotExist"),
        }
    }
}
