//! One condition on one label.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt, option,
};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelectorRequirement;
use serde::{Deserialize, Serialize};

use super::SelectorExt;

/// A label selector, or a requirement of one, is not valid; the field says why, and for text where.
///
/// ```
/// use kube_core::Selector;
/// let error = "app=web tier".parse::<Selector>().expect_err("no comma");
/// assert_eq!(error.to_string(), r#"invalid label selector: "app=web tier": expected a comma or the end at byte 8, found "tier""#);
/// ```
#[derive(Debug, thiserror::Error)]
#[error("invalid label selector: {0}")]
pub struct ParseExpressionError(pub String);

/// One condition on one label.
///
/// The negative conditions ([`NotEqual`](Self::NotEqual), [`NotIn`](Self::NotIn)) also match where the label is
/// absent, as they do on the server. Keys and values are not checked: only reading them from text does that.
///
/// It is also made from a `LabelSelectorRequirement`, the form that objects hold. Display prints the form that servers and
/// kubectl read.
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
    /// The label is there and has one of the values: `key in (a,b)`. Without values nothing matches: printed as
    /// `key,!key`, as to servers `key in ()` stands for the empty value.
    In(String, BTreeSet<String>),
    /// The label is absent or has none of the values: `key notin (a,b)`. Without values everything matches: printed as
    /// the empty text.
    NotIn(String, BTreeSet<String>),
    /// The label is there and has the value: `key=a`.
    Equal(String, String),
    /// The label is absent or has another value: `key!=a`.
    NotEqual(String, String),
    /// The label is there: `key`.
    Exists(String),
    /// The label is absent: `!key`.
    DoesNotExist(String),
}

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
    /// The form that servers and kubectl read.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::In(key, values) if values.is_empty() => write!(f, "{key},!{key}"),
            Self::NotIn(_, values) if values.is_empty() => Ok(()),
            Self::In(key, values) => write!(f, "{key} in ({})", Commas(values)),
            Self::NotIn(key, values) => write!(f, "{key} notin ({})", Commas(values)),
            Self::Equal(key, value) => write!(f, "{key}={value}"),
            Self::NotEqual(key, value) => write!(f, "{key}!={value}"),
            Self::Exists(key) => f.write_str(key),
            Self::DoesNotExist(key) => write!(f, "!{key}"),
        }
    }
}

impl Expression {
    /// Whether everything matches, so that there is nothing to print.
    pub(super) fn selects_all(&self) -> bool {
        matches!(self, Self::NotIn(_, values) if values.is_empty())
    }
}

struct Commas<'a>(&'a BTreeSet<String>);

impl fmt::Display for Commas<'_> {
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
            ("Exists" | "DoesNotExist", false) => fail("takes no values"),
            ("In", false) => Ok(Self::In(key, values)),
            ("NotIn", false) => Ok(Self::NotIn(key, values)),
            ("Exists", true) => Ok(Self::Exists(key)),
            ("DoesNotExist", true) => Ok(Self::DoesNotExist(key)),
            _ => fail("is unknown, expected In, NotIn, Exists or DoesNotExist"),
        }
    }
}
