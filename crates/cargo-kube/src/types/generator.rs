//! [`Generator`]: the settings of a run, and the run.

use super::emit::{Split, render};
use super::error::Error;
use super::files::{Files, Kind};
use super::model::{build, place};
use super::overrides::Overrides;
use super::read::Definitions;

/// Makes Rust types from definitions.
///
/// The same definitions give the same files, in any order and from any place. One run should have all definitions of a program: a structure
/// that several of them have becomes one type.
///
/// # Cost
/// Linear in the size of the definitions: some milliseconds for a large one.
#[derive(Clone, Debug, Default)]
pub struct Generator {
    overrides: Overrides,
    split: Split,
    derives: Vec<String>,
}

impl Generator {
    /// A generator without overrides that writes a file per kind.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets exceptions.
    #[must_use]
    pub fn overrides(mut self, overrides: Overrides) -> Self {
        self.overrides = overrides;
        self
    }

    /// Sets which types are in one file.
    #[must_use]
    pub fn split(mut self, split: Split) -> Self {
        self.split = split;
        self
    }

    /// Adds a derive to all types, such as `schemars::JsonSchema`, to use them in definitions of the program. The types of k8s-openapi have
    /// to implement it too.
    #[must_use]
    pub fn derive(mut self, path: impl Into<String>) -> Self {
        self.derives.push(path.into());
        self
    }

    /// Makes the files, in memory.
    ///
    /// # Errors
    /// [`Error::NoDefinitions`] without a definition, [`Error::Definition`] for a schema that cannot be one of a kind, [`Error::Overrides`]
    /// for an override without effect or a derive that is no path.
    pub fn generate(&self, definitions: &Definitions) -> Result<Files, Error> {
        if definitions.is_empty() {
            return Err(Error::NoDefinitions { inputs: definitions.inputs() });
        }
        let derives = self.derives.iter().map(|text| {
            syn::parse_str::<syn::Path>(text).map_err(|_| Error::Overrides {
                file: "derive".to_owned(),
                reason: format!(
                    "expected the path of a derive macro, such as schemars::JsonSchema, found `{text}`"
                ),
            })
        });
        let derives = derives.collect::<Result<Vec<_>, Error>>()?;
        let graph = build(definitions, &self.overrides)?;
        let placed = place(definitions, &graph);
        let files = render(definitions, &graph, &placed, self.split, &derives)?;
        let kinds = graph.roots.iter().zip(&placed.roots).map(|(root, name)| {
            let (crd, modules) = (&definitions.entries()[root.kind].crd, &placed.modules[root.kind]);
            let version = &modules.versions[root.version];
            Kind {
                crd: crd.metadata.name.clone().unwrap_or_default(),
                version: crd.spec.versions[root.version].name.clone(),
                path: format!("{}::{}::{version}::{name}", modules.group, modules.kind),
            }
        });
        Ok(Files::new(files, kinds.collect(), graph.types.len()))
    }
}
