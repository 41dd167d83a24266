//! [`Project`]: what a project is, as its Cargo.toml records it.

use std::fmt;
use std::str::FromStr;

use anyhow::{Context as _, Result, bail, ensure};
use clap::ValueEnum;
use toml_edit::{Array, DocumentMut, Item, Value};

use super::names::{Kind, check_group, check_project, check_version};
use super::source::Source;

/// Where in Cargo.toml it is.
const TABLE: &str = "package.metadata.cargo-kube";

/// A project: the answers that `new` was given, and what was added since.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Project {
    pub(super) name: String,
    /// The number of the template that wrote it.
    pub(super) template: i64,
    pub(super) group: String,
    pub(super) source: Source,
    /// Where other clusters come from on which it works, too.
    pub(super) clusters: Option<Clusters>,
    /// The kind that it began with.
    pub(super) first: NewKind,
    /// In the order in which it was added.
    pub(super) added: Vec<Addition>,
}

/// A kind with its first version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NewKind {
    pub(super) kind: Kind,
    pub(super) version: String,
    pub(super) scope: Scope,
}

/// Where the clusters come from on which a project works besides its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Clusters {
    /// From Secrets with a kubeconfig, in the namespace of the operator
    Secrets,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    Namespaced,
    Cluster,
}

/// What `add` adds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Addition {
    Kind(NewKind),
    Version { kind: Kind, version: String },
    Webhook { kind: Kind, webhook: Webhook },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Webhook {
    Validate,
    Mutate,
}

impl Project {
    /// From the text of its Cargo.toml.
    pub(super) fn parse(text: &str) -> Result<Self> {
        let document: DocumentMut = text.parse().context("Cargo.toml")?;
        let package = document.get("package").context("Cargo.toml: expected a table [package]")?;
        let known = package.get("metadata").and_then(|it| it.get("cargo-kube"));
        let known = known.with_context(|| {
            format!(
                "Cargo.toml: expected the table [{TABLE}]: this works in projects that `cargo kube new` has written, and in no others"
            )
        })?;
        let text = |key: &str| {
            let found = known.get(key).and_then(Item::as_str);
            found.with_context(|| format!("Cargo.toml: {TABLE}.{key}: expected a text"))
        };
        let template = known.get("template").and_then(Item::as_integer);
        let added = known.get("added").and_then(Item::as_array);
        let added = added.with_context(|| format!("Cargo.toml: {TABLE}.added: expected a list"))?;
        let added = added.iter().map(|item| item.as_str().unwrap_or_default().parse());
        let kube = document.get("dependencies").and_then(|it| it.get("kube"));
        let project = Self {
            name: package.get("name").and_then(Item::as_str).unwrap_or_default().to_owned(),
            template: template.with_context(|| format!("Cargo.toml: {TABLE}.template: expected a number"))?,
            group: text("group")?.to_owned(),
            // Of another one nothing is known, so it is left as it is.
            source: kube.and_then(Source::of_dependency).unwrap_or_else(|| Source::Path("../kube".into())),
            clusters: match known.get("clusters") {
                Some(_) => Some(text("clusters")?.parse()?),
                None => None,
            },
            first: NewKind {
                kind: text("kind")?.parse()?,
                version: text("version")?.to_owned(),
                scope: text("scope")?.parse()?,
            },
            added: added.collect::<Result<_>>().with_context(|| format!("Cargo.toml: {TABLE}.added"))?,
        };
        project.check().context("Cargo.toml")?;
        Ok(project)
    }

    /// Whether all names are accepted and no addition contradicts those before it.
    pub(super) fn check(&self) -> Result<()> {
        check_project(&self.name)?;
        check_group(&self.group)?;
        check_version(&self.first.version)?;
        let mut before = Self { added: Vec::new(), ..self.clone() };
        for addition in &self.added {
            before = before.with(addition)?;
        }
        Ok(())
    }

    /// With one addition more.
    pub(super) fn with(&self, addition: &Addition) -> Result<Self> {
        match addition {
            Addition::Kind(new) => {
                check_version(&new.version)?;
                let (kind, module) = (&new.kind, new.kind.module());
                let same =
                    self.kinds().find(|it| it.kind.module() == module || it.kind.lower() == kind.lower());
                if let Some(same) = same {
                    bail!("kind {kind}: expected another kind, the project has {} already", same.kind);
                }
            }
            Addition::Version { kind, version } => {
                check_version(version)?;
                let versions = self.versions(kind)?;
                ensure!(
                    !versions.contains(version),
                    "version {version}: expected another version, {kind} has {} already",
                    versions.join(", ")
                );
            }
            Addition::Webhook { kind, webhook } => {
                self.find(kind)?;
                ensure!(
                    !self.has_webhook(|of, it| of == kind && it == *webhook),
                    "{kind} has the webhook {webhook} already"
                );
            }
        }
        let mut project = self.clone();
        project.added.push(addition.clone());
        Ok(project)
    }

    pub(super) fn kinds(&self) -> impl Iterator<Item = &NewKind> {
        let added = self.added.iter().filter_map(|addition| match addition {
            Addition::Kind(kind) => Some(kind),
            _ => None,
        });
        std::iter::once(&self.first).chain(added)
    }

    fn find(&self, kind: &Kind) -> Result<&NewKind> {
        self.kinds().find(|it| it.kind == *kind).with_context(|| {
            let known: Vec<_> = self.kinds().map(|it| it.kind.as_str()).collect();
            format!("kind {kind}: expected a kind of the project: {}", known.join(", "))
        })
    }

    /// All versions of a kind, the one that the operator works with last.
    pub(super) fn versions(&self, kind: &Kind) -> Result<Vec<String>> {
        let mut versions = vec![self.find(kind)?.version.clone()];
        versions.extend(self.added.iter().filter_map(|addition| match addition {
            Addition::Version { kind: of, version } if of == kind => Some(version.clone()),
            _ => None,
        }));
        Ok(versions)
    }

    pub(super) fn has_webhook(&self, wanted: impl Fn(&Kind, Webhook) -> bool) -> bool {
        self.added.iter().any(|addition| match addition {
            Addition::Webhook { kind, webhook } => wanted(kind, *webhook),
            _ => false,
        })
    }

    /// Whether the operator serves webhooks or conversions.
    pub(super) fn serves_webhooks(&self) -> bool {
        self.added.iter().any(|it| !matches!(it, Addition::Kind(_)))
    }
}

/// Records an addition in the text of a Cargo.toml.
pub(super) fn record(text: &str, addition: &Addition) -> Option<String> {
    let mut document: DocumentMut = text.parse().ok()?;
    let known = document.get_mut("package")?.get_mut("metadata")?.get_mut("cargo-kube")?;
    let added: &mut Array = known.get_mut("added")?.as_array_mut()?;
    // A line each, so that a merge sees additions apart.
    let mut value = Value::from(addition.to_string());
    value.decor_mut().set_prefix("\n    ");
    added.push_formatted(value);
    added.set_trailing("\n");
    added.set_trailing_comma(true);
    Some(document.to_string())
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Namespaced => "Namespaced",
            Self::Cluster => "Cluster",
        })
    }
}

impl FromStr for Scope {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "Namespaced" => Ok(Self::Namespaced),
            "Cluster" => Ok(Self::Cluster),
            _ => bail!("scope {text:?}: expected Namespaced or Cluster"),
        }
    }
}

impl fmt::Display for Clusters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Secrets => f.write_str("secrets"),
        }
    }
}

impl FromStr for Clusters {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "secrets" => Ok(Self::Secrets),
            _ => bail!("Cargo.toml: {TABLE}.clusters: {text:?}: expected \"secrets\""),
        }
    }
}

impl fmt::Display for Webhook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Validate => "validate",
            Self::Mutate => "mutate",
        })
    }
}

impl fmt::Display for Addition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kind(NewKind { kind, version, scope }) => write!(f, "kind {kind} {version} {scope}"),
            Self::Version { kind, version } => write!(f, "version {kind} {version}"),
            Self::Webhook { kind, webhook } => write!(f, "webhook {kind} {webhook}"),
        }
    }
}

impl FromStr for Addition {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        let words: Vec<_> = text.split_whitespace().collect();
        Ok(match words[..] {
            ["kind", kind, version, scope] => Self::Kind(NewKind {
                kind: kind.parse()?,
                version: version.to_owned(),
                scope: scope.parse()?,
            }),
            ["version", kind, version] => Self::Version { kind: kind.parse()?, version: version.to_owned() },
            ["webhook", kind, "validate"] => {
                Self::Webhook { kind: kind.parse()?, webhook: Webhook::Validate }
            }
            ["webhook", kind, "mutate"] => Self::Webhook { kind: kind.parse()?, webhook: Webhook::Mutate },
            _ => bail!("{text:?}: expected an addition of `cargo kube add`, such as \"version Page v2\""),
        })
    }
}
