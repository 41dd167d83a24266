//! Which API versions of built-in kinds are served: the stable ones, and those that are switched on as by kube-apiserver's
//! `--runtime-config`.

use kube_core::Version;

use super::builtin::{BuiltInKind, kinds};

/// API versions that are switched on or off. The default serves the stable versions only, as clusters do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RuntimeConfig {
    entries: Vec<(Selection, bool)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Selection {
    All,
    Stage(Stage),
    Version { group: &'static str, version: &'static str },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Stable,
    Beta,
    Alpha,
}

/// An entry that cannot be used; the message says what was expected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the runtime configuration {entry:?} is invalid: expected {expected}")]
pub(crate) struct RuntimeConfigError {
    entry: String,
    expected: &'static str,
}

impl RuntimeConfig {
    /// Adds entries `KEY=true` or `KEY=false`, separated by commas; `KEY` alone is `KEY=true`. A key for a version goes before one for a
    /// stage, and that before `api/all`; of two equal keys the later one counts.
    pub(crate) fn add(&mut self, entries: &str) -> Result<(), RuntimeConfigError> {
        for entry in entries.split(',').map(str::trim).filter(|entry| !entry.is_empty()) {
            let wrong = |expected| RuntimeConfigError { entry: entry.to_owned(), expected };
            let (key, value) = entry.split_once('=').unwrap_or((entry, "true"));
            let value = value.parse().map_err(|_| wrong("true or false after ="))?;
            let selection = Selection::parse(key).ok_or_else(|| {
                wrong("api/all, api/beta, api/alpha, or an alpha or beta version of a built-in group, such as coordination.k8s.io/v1beta1")
            })?;
            self.entries.push((selection, value));
        }
        Ok(())
    }

    /// Whether a kind is served in its version. A version in which the objects of another served version are stored is served too.
    pub(crate) fn serves(&self, kind: &BuiltInKind) -> bool {
        let stored_here = |other: &BuiltInKind| {
            super::equivalent::of(other).is_some_and(|equivalent| equivalent.stored_kind == kind)
        };
        let versions =
            || kinds().iter().filter(|other| (other.group, other.plural) == (kind.group, kind.plural));
        self.selects(kind) || versions().any(|other| self.selects(other) && stored_here(other))
    }

    fn selects(&self, kind: &BuiltInKind) -> bool {
        let stage = Stage::of(kind.version);
        let applies = |selection: &Selection| match *selection {
            Selection::All => true,
            Selection::Stage(other) => other == stage,
            Selection::Version { group, version } => (group, version) == (kind.group, kind.version),
        };
        let applying = self.entries.iter().filter(|(selection, _)| applies(selection));
        // Of entries with equal keys, the last is the greatest.
        let decisive = applying.max_by_key(|(selection, _)| *selection);
        stage == Stage::Stable || decisive.is_some_and(|(_, value)| *value)
    }
}

impl Selection {
    fn parse(key: &str) -> Option<Self> {
        match key {
            "api/all" => Some(Self::All),
            "api/beta" => Some(Self::Stage(Stage::Beta)),
            "api/alpha" => Some(Self::Stage(Stage::Alpha)),
            _ => {
                let (group, version) = key.split_once('/')?;
                let kind = kinds().iter().find(|kind| (kind.group, kind.version) == (group, version))?;
                let version = Self::Version { group: kind.group, version: kind.version };
                // The server and its controllers need the stable versions.
                (Stage::of(kind.version) != Stage::Stable).then_some(version)
            }
        }
    }
}

impl Stage {
    fn of(version: &str) -> Self {
        match Version::parse(version) {
            Version::Beta(..) => Self::Beta,
            Version::Alpha(..) => Self::Alpha,
            _ => Self::Stable,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn served(entries: &[&str]) -> Vec<String> {
        let mut config = RuntimeConfig::default();
        entries.iter().for_each(|entry| config.add(entry).unwrap());
        let unstable = kinds().iter().filter(|kind| Stage::of(kind.version) != Stage::Stable);
        let mut names: Vec<String> = unstable
            .filter(|kind| config.serves(kind))
            .map(|kind| format!("{}/{}", kind.group, kind.version))
            .collect();
        names.dedup();
        names
    }

    #[test]
    fn only_stable_versions_are_served_by_default() {
        assert_eq!(served(&[]), Vec::<String>::new());
        assert!(
            kinds()
                .iter()
                .filter(|kind| Stage::of(kind.version) == Stage::Stable)
                .all(|kind| RuntimeConfig::default().serves(kind))
        );
    }

    #[test]
    fn versions_and_stages_are_switched_on_and_off() {
        let one = "coordination.k8s.io/v1beta1";
        assert_eq!(served(&[one]), [one]);
        assert_eq!(served(&["coordination.k8s.io/v1beta1=true"]), [one]);
        assert!(served(&["api/beta"]).iter().all(|name| name.contains("beta")));
        assert!(served(&["api/alpha=true"]).iter().any(|name| name.contains("alpha")));
        let all = served(&["api/all=true"]);
        assert!(all.len() > served(&["api/beta"]).len());
        assert_eq!(
            served(&["api/all=true,api/beta=false,api/alpha=false", one]),
            [one],
            "the version goes before the stage"
        );
        assert_eq!(
            served(&[one, "coordination.k8s.io/v1beta1=false"]),
            Vec::<String>::new(),
            "the later one counts"
        );
    }

    #[test]
    fn a_version_is_served_with_the_one_it_is_stored_in() {
        assert_eq!(
            served(&["coordination.k8s.io/v1alpha2"]),
            ["coordination.k8s.io/v1alpha2", "coordination.k8s.io/v1beta1"]
        );
    }

    #[test]
    fn invalid_entries_are_refused() {
        for (entry, expected) in [
            ("api/beta=yes", "true or false after ="),
            (
                "apps/v1=false",
                "api/all, api/beta, api/alpha, or an alpha or beta version of a built-in group, such as coordination.k8s.io/v1beta1",
            ),
            (
                "coordination.k8s.io",
                "api/all, api/beta, api/alpha, or an alpha or beta version of a built-in group, such as coordination.k8s.io/v1beta1",
            ),
        ] {
            let refused = RuntimeConfig::default().add(&format!("api/alpha, {entry}")).unwrap_err();
            assert_eq!(
                refused.to_string(),
                format!("the runtime configuration {entry:?} is invalid: expected {expected}")
            );
        }
    }
}
