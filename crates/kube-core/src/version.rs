//! API versions and how they are ordered.

use std::{cmp::Reverse, convert::Infallible, str::FromStr};

/// A version of an API group, such as `v1` or `v2beta3`.
///
/// Parsing never fails: text that does not follow the convention, and numbers beyond 32 bits, are
/// [`Nonconformant`](Self::Nonconformant).
///
/// ```
/// use kube_core::Version;
/// assert_eq!(Version::parse("v1"), Version::Stable(1));
/// assert_eq!(Version::parse("v2beta3"), Version::Beta(2, Some(3)));
/// assert_eq!(Version::parse("v1alpha"), Version::Alpha(1, None));
/// assert_eq!(Version::parse("sales"), Version::Nonconformant("sales".into()));
/// ```
///
/// There are two orders, each as a sort key; the greatest key comes first:
///
/// ```
/// use kube_core::Version;
/// use std::cmp::Reverse;
///
/// let mut versions = ["v1alpha1", "v2beta1", "v1", "sales", "v10", "v2"].map(Version::parse);
/// versions.sort_by_cached_key(|v| Reverse(v.priority()));
/// assert_eq!(versions, ["v10", "v2", "v1", "v2beta1", "v1alpha1", "sales"].map(Version::parse));
/// versions.sort_by_cached_key(|v| Reverse(v.generation()));
/// assert_eq!(versions, ["v10", "v2", "v2beta1", "v1", "v1alpha1", "sales"].map(Version::parse));
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Version {
    /// `v1`: generally available.
    Stable(u32),
    /// `v1beta2`: the major version and the number of the beta, if any.
    Beta(u32, Option<u32>),
    /// `v1alpha2`: the major version and the number of the alpha, if any.
    Alpha(u32, Option<u32>),
    /// Anything else, unchanged.
    Nonconformant(String),
}

impl Version {
    /// Parses a version; [`Nonconformant`](Self::Nonconformant) if it does not follow the convention. [`FromStr`] does the same.
    pub fn parse(v: &str) -> Version {
        conformant(v).unwrap_or_else(|| Self::Nonconformant(v.to_owned()))
    }

    /// The sort key of Kubernetes' version priority: stable before beta before alpha, within each the greater number first, then
    /// all others alphabetically. As on servers, a beta or alpha without a number is one of the others.
    ///
    /// The version with the highest priority has the greatest key; equal keys mean equal versions.
    pub fn priority(&self) -> impl Ord + use<> {
        match self.unnumbered() {
            Some(name) => (Stability::None, 0, None, Some(Reverse(name))),
            None => {
                let (stability, major, minor) = self.numbers();
                (stability, major, minor, None)
            }
        }
    }

    /// The sort key by age: the greater major version first, within each stable before beta before alpha, then all others
    /// alphabetically. The newest version has the greatest key; equal keys mean equal versions.
    pub fn generation(&self) -> impl Ord + use<> {
        let (stability, major, minor) = self.numbers();
        let other = match self {
            Self::Nonconformant(name) => Some(Reverse(name.clone())),
            _ => None,
        };
        (stability > Stability::None, major, stability, minor, other)
    }

    fn numbers(&self) -> (Stability, u32, Option<u32>) {
        match *self {
            Self::Stable(major) => (Stability::Stable, major, None),
            Self::Beta(major, minor) => (Stability::Beta, major, minor),
            Self::Alpha(major, minor) => (Stability::Alpha, major, minor),
            Self::Nonconformant(_) => (Stability::None, 0, None),
        }
    }

    /// The name of a version that is ordered by name.
    fn unnumbered(&self) -> Option<String> {
        match self {
            Self::Nonconformant(name) => Some(name.clone()),
            Self::Beta(major, None) => Some(format!("v{major}beta")),
            Self::Alpha(major, None) => Some(format!("v{major}alpha")),
            _ => None,
        }
    }
}

impl FromStr for Version {
    type Err = Infallible;

    fn from_str(v: &str) -> Result<Self, Self::Err> {
        Ok(Self::parse(v))
    }
}

#[derive(Clone, Copy, Eq, Ord, PartialEq, PartialOrd)]
enum Stability {
    None,
    Alpha,
    Beta,
    Stable,
}

/// Parses `v`, digits, and optionally `alpha` or `beta` with optional digits.
fn conformant(v: &str) -> Option<Version> {
    let rest = v.strip_prefix('v')?;
    let (major, rest) = rest.split_at(rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len()));
    let major = major.parse().ok()?;
    if rest.is_empty() {
        return Some(Version::Stable(major));
    }
    let minor = |digits: &str| match digits {
        "" => Some(None),
        // `parse` would accept a sign.
        digits if digits.bytes().all(|b| b.is_ascii_digit()) => digits.parse().ok().map(Some),
        _ => None,
    };
    match (rest.strip_prefix("alpha"), rest.strip_prefix("beta")) {
        (Some(digits), _) => minor(digits).map(|minor| Version::Alpha(major, minor)),
        (_, Some(digits)) => minor(digits).map(|minor| Version::Beta(major, minor)),
        (None, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Version;

    #[test]
    fn parses_the_convention_and_keeps_other_text() {
        let cases = [
            ("v1", Version::Stable(1)),
            ("v2beta10", Version::Beta(2, Some(10))),
            ("v1alpha", Version::Alpha(1, None)),
            ("v007", Version::Stable(7)),
        ];
        for (text, expected) in cases {
            assert_eq!(Version::parse(text), expected, "{text}");
        }
        for other in [
            "",
            "v",
            "1",
            "v+1",
            "v1alpha+1",
            "v1beta1x",
            "v1gamma1",
            "v99999999999",
            "V1",
            "v1beta-1",
            "vé1",
        ] {
            assert_eq!(Version::parse(other), Version::Nonconformant(other.into()), "{other}");
        }
    }

    #[test]
    fn priority_sorts_the_example_of_the_kubernetes_documentation() {
        // The example of the documentation on custom resource versions.
        let expected =
            ["v10", "v2", "v1", "v11beta2", "v10beta3", "v3beta1", "v12alpha1", "v11alpha2", "foo1", "foo10"];
        let mut versions = expected.map(Version::parse);
        versions.sort_by_cached_key(Version::priority);
        versions.reverse();
        assert_eq!(versions, expected.map(Version::parse));
    }

    #[test]
    fn priority_sorts_like_a_genuine_server() {
        // The versions of one definition, in the order in which discovery of Kubernetes 1.36 lists them.
        let expected = [
            "v2",
            "v1",
            "v2beta1",
            "v1beta1",
            "v10alpha1",
            "v1alpha1",
            "a1",
            "v1alpha",
            "v1beta",
            "v2beta",
            "zz",
        ];
        let mut versions = expected.map(Version::parse);
        versions.sort_by_cached_key(Version::priority);
        versions.reverse();
        assert_eq!(versions, expected.map(Version::parse));
    }

    fn any_version() -> impl Strategy<Value = Version> {
        prop_oneof![
            "v[0-9]{1,2}((alpha|beta)[0-9]{0,2})?".prop_map(|v| Version::parse(&v)),
            "[a-z0-9]{0,4}".prop_map(|v| Version::parse(&v)),
        ]
    }

    /// A reference implementation of the documented order: `Less` if `a` comes first.
    fn reference_priority(a: &Version, b: &Version) -> std::cmp::Ordering {
        let rank = |v: &Version| match v {
            Version::Stable(_) => 0,
            Version::Beta(_, Some(_)) => 1,
            Version::Alpha(_, Some(_)) => 2,
            _ => 3,
        };
        let name = |v: &Version| match v {
            Version::Beta(n, _) => format!("v{n}beta"),
            Version::Alpha(n, _) => format!("v{n}alpha"),
            Version::Stable(n) => format!("v{n}"),
            Version::Nonconformant(name) => name.clone(),
        };
        rank(a).cmp(&rank(b)).then_with(|| match (a, b) {
            (Version::Stable(a), Version::Stable(b)) => b.cmp(a),
            (Version::Beta(a, Some(m)), Version::Beta(b, Some(n)))
            | (Version::Alpha(a, Some(m)), Version::Alpha(b, Some(n))) => b.cmp(a).then_with(|| n.cmp(m)),
            _ => name(a).cmp(&name(b)),
        })
    }

    proptest! {
        #[test]
        fn priority_is_the_documented_total_order(a in any_version(), b in any_version(), c in any_version()) {
            prop_assert_eq!(b.priority().cmp(&a.priority()), reference_priority(&a, &b));
            prop_assert_eq!(a.priority() == b.priority(), a == b);
            if a.priority() <= b.priority() && b.priority() <= c.priority() {
                prop_assert!(a.priority() <= c.priority());
            }
        }

        #[test]
        fn generation_puts_the_major_version_first(a in any_version(), b in any_version()) {
            let major = |v: &Version| match v {
                Version::Stable(n) | Version::Beta(n, _) | Version::Alpha(n, _) => Some(*n),
                Version::Nonconformant(_) => None,
            };
            let stability = |v: &Version| match v {
                Version::Stable(_) => 3,
                Version::Beta(..) => 2,
                Version::Alpha(..) => 1,
                Version::Nonconformant(_) => 0,
            };
            let minor = |v: &Version| match v {
                Version::Beta(_, minor) | Version::Alpha(_, minor) => *minor,
                _ => None,
            };
            let name = |v: &Version| match v {
                Version::Nonconformant(name) => name.clone(),
                _ => String::new(),
            };
            prop_assert_eq!(a.generation() == b.generation(), a == b);
            match major(&a).cmp(&major(&b)) {
                std::cmp::Ordering::Equal => {
                    prop_assert_eq!(a.generation().cmp(&b.generation()), stability(&a).cmp(&stability(&b)).then_with(|| {
                        minor(&a).cmp(&minor(&b)).then_with(|| name(&b).cmp(&name(&a)))
                    }));
                }
                order => prop_assert_eq!(a.generation().cmp(&b.generation()), order),
            }
        }
    }
}
