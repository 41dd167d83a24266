//! Label selectors: conditions on labels, all of which must hold.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    str::FromStr,
    vec,
};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};
use serde::{Deserialize, Serialize};

use super::{
    Expression, ParseExpressionError,
    ext::{Sealed, SelectorExt},
    parse,
};

/// A label selector: conditions on labels, all of which must hold. Without conditions it selects everything.
///
/// Converts from text, from pairs, from expressions, and from and to the `LabelSelector` in objects. Display prints the
/// syntax of the API, which [`ListParams::labels_from`](crate::params::ListParams::labels_from) sends. serde serializes the
/// list of expressions, which is no format of Kubernetes.
///
/// ```
/// use kube_core::{Expression, Selector, SelectorExt};
///
/// let mut web: Selector = [("app", "web")].into_iter().collect();
/// web.extend(Expression::Exists("tier".into()));
/// assert_eq!(web.to_string(), "app=web,tier");
/// assert!(!web.matches(&[("app".into(), "web".into())].into()));
///
/// let parsed: Selector = "env in (a, b), !canary".parse()?;
/// assert_eq!(parsed.to_string(), "env in (a,b),!canary");
/// assert!(Selector::default().selects_all() && !parsed.selects_all());
/// # Ok::<(), kube_core::ParseExpressionError>(())
/// ```
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub struct Selector(Vec<Expression>);

impl Selector {
    /// Whether there are no conditions, so that everything matches.
    pub fn selects_all(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds conditions, all of which must hold too. A single [`Expression`] can be passed as is.
    pub fn extend(&mut self, exprs: impl IntoIterator<Item = Expression>) -> &mut Self {
        self.0.extend(exprs);
        self
    }
}

impl Sealed for Selector {}

impl SelectorExt for Selector {
    type Search = BTreeMap<String, String>;

    fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        self.0.iter().all(|expression| expression.matches(labels))
    }
}

impl fmt::Display for Selector {
    /// The syntax of the API and kubectl: conditions separated by commas.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let restricting = self.0.iter().filter(|expression| !expression.selects_all());
        for (i, expression) in restricting.enumerate() {
            f.write_str(if i == 0 { "" } else { "," })?;
            expression.fmt(f)?;
        }
        Ok(())
    }
}

impl FromStr for Selector {
    type Err = ParseExpressionError;

    /// Parses the syntax of the API and kubectl: `a=b`, `a==b`, `a!=b`, `a in (b,c)`, `a notin (b,c)`, `a`, `!a`, separated by
    /// commas, with optional white space. The empty string selects everything.
    ///
    /// # Errors
    ///
    /// A syntax error, or an invalid label key or value. The comparisons `a<5` and `a>5` have no [`Expression`] and are errors
    /// too.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse::selector(text).map(Self)
    }
}

impl IntoIterator for Selector {
    type Item = Expression;
    type IntoIter = vec::IntoIter<Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl FromIterator<(String, String)> for Selector {
    fn from_iter<T: IntoIterator<Item = (String, String)>>(pairs: T) -> Self {
        pairs.into_iter().map(|(key, value)| Expression::Equal(key, value)).collect()
    }
}

impl FromIterator<(&'static str, &'static str)> for Selector {
    fn from_iter<T: IntoIterator<Item = (&'static str, &'static str)>>(pairs: T) -> Self {
        pairs.into_iter().map(|(key, value)| Expression::Equal(key.into(), value.into())).collect()
    }
}

impl FromIterator<Expression> for Selector {
    fn from_iter<T: IntoIterator<Item = Expression>>(expressions: T) -> Self {
        Self(expressions.into_iter().collect())
    }
}

impl From<Expression> for Selector {
    fn from(expression: Expression) -> Self {
        Self(vec![expression])
    }
}

impl TryFrom<LabelSelector> for Selector {
    type Error = ParseExpressionError;

    /// # Errors
    ///
    /// If a requirement is not valid, see [`Expression`].
    fn try_from(selector: LabelSelector) -> Result<Self, Self::Error> {
        let equal = selector.match_labels.unwrap_or_default().into_iter();
        let requirements = selector.match_expressions.unwrap_or_default().into_iter();
        equal
            .map(|(key, value)| Ok(Expression::Equal(key, value)))
            .chain(requirements.map(Expression::try_from))
            .collect()
    }
}

impl From<Selector> for LabelSelector {
    fn from(selector: Selector) -> Self {
        let mut labels = BTreeMap::new();
        let mut requirements = Vec::new();
        for expression in selector {
            let (key, operator, values) = match expression {
                // A second value for the same key becomes a requirement, so that it does not replace the first in the map.
                Expression::Equal(key, value) if labels.get(&key).is_none_or(|known| *known == value) => {
                    labels.insert(key, value);
                    continue;
                }
                Expression::Equal(key, value) => (key, "In", BTreeSet::from([value])),
                Expression::NotEqual(key, value) => (key, "NotIn", BTreeSet::from([value])),
                // Requirements cannot have empty sets. `In` nothing becomes a contradiction, `NotIn` nothing is omitted.
                Expression::In(key, values) if values.is_empty() => {
                    requirements.push(requirement(key.clone(), "Exists", values));
                    (key, "DoesNotExist", BTreeSet::new())
                }
                Expression::NotIn(_, values) if values.is_empty() => continue,
                Expression::In(key, values) => (key, "In", values),
                Expression::NotIn(key, values) => (key, "NotIn", values),
                Expression::Exists(key) => (key, "Exists", BTreeSet::new()),
                Expression::DoesNotExist(key) => (key, "DoesNotExist", BTreeSet::new()),
            };
            requirements.push(requirement(key, operator, values));
        }
        Self {
            match_labels: (!labels.is_empty()).then_some(labels),
            match_expressions: (!requirements.is_empty()).then_some(requirements),
        }
    }
}

fn requirement(key: String, operator: &str, values: BTreeSet<String>) -> LabelSelectorRequirement {
    let values = (!values.is_empty()).then(|| values.into_iter().collect());
    LabelSelectorRequirement { key, operator: operator.into(), values }
}
