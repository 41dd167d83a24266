//! [`ClusterName`]: by which a cluster is known.

use kube_core::labels::check_label_value;
use std::{fmt, str::FromStr, sync::Arc};

/// The name of a cluster: `name`, or `namespace/name` where an object of the hub stands for it.
///
/// Both parts are label values, so that objects can be labelled with them.
///
/// ```
/// use kube_operator::clusters::ClusterName;
///
/// let name: ClusterName = "fleet/east".parse()?;
/// assert_eq!((name.namespace(), name.name()), (Some("fleet"), "east"));
/// let error = "gke_project_zone_name/a b".parse::<ClusterName>().unwrap_err();
/// assert!(error.to_string().starts_with(r#""gke_project_zone_name/a b" cannot be the name of a cluster: label value "a b" is invalid"#));
/// # Ok::<(), kube_operator::clusters::InvalidClusterName>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClusterName {
    namespace: Option<Arc<str>>,
    name: Arc<str>,
}

/// A text cannot be the name of a cluster.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name:?} cannot be the name of a cluster: {problem}")]
pub struct InvalidClusterName {
    name: String,
    problem: String,
}

impl ClusterName {
    /// A name without a namespace.
    ///
    /// # Errors
    /// If it is no label value, or empty.
    pub fn new(name: &str) -> Result<Self, InvalidClusterName> {
        check_part(name, name)?;
        Ok(Self { namespace: None, name: name.into() })
    }

    /// The name of an object in a namespace.
    ///
    /// # Errors
    /// If one of them is no label value, or empty.
    pub fn namespaced(namespace: &str, name: &str) -> Result<Self, InvalidClusterName> {
        let whole = format!("{namespace}/{name}");
        check_part(&whole, namespace)?;
        check_part(&whole, name)?;
        Ok(Self { namespace: Some(namespace.into()), name: name.into() })
    }

    /// The namespace of the object that stands for the cluster.
    #[must_use]
    pub fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    /// The part without the namespace.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// `part`, of the name `whole`.
fn check_part(whole: &str, part: &str) -> Result<(), InvalidClusterName> {
    let invalid = |problem: String| InvalidClusterName { name: whole.to_owned(), problem };
    if part.is_empty() {
        return Err(invalid("expected `name` or `namespace/name`, and neither is empty".to_owned()));
    }
    check_label_value(part).map_err(|error| invalid(error.to_string()))
}

impl FromStr for ClusterName {
    type Err = InvalidClusterName;

    fn from_str(text: &str) -> Result<Self, InvalidClusterName> {
        match text.split_once('/') {
            Some((namespace, name)) => Self::namespaced(namespace, name),
            None => Self::new(text),
        }
    }
}

impl fmt::Display for ClusterName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(f, "{namespace}/{}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_no_label_values_are_refused_with_what_is_wrong() {
        let long = "a".repeat(64);
        let refused =
            ["", "/", "a/", "/a", "a/b/c", "arn:aws:eks:eu-west-1:1:cluster/prod", "a b", "-a", &long];
        for text in refused {
            let error = text.parse::<ClusterName>().unwrap_err().to_string();
            assert!(error.starts_with(&format!("{text:?} cannot be the name of a cluster: ")), "{error}");
        }
        for text in ["a", "kube-system/A.b_c", &long[..63]] {
            assert_eq!(text.parse::<ClusterName>().unwrap().to_string(), text);
        }
    }
}
