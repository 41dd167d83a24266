//! [`Overrides`]: the file of exceptions, where a field gets a type or a name that the generator would not choose.

use std::path::Path;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde::Deserialize;

use super::error::Error;

/// Exceptions, from a YAML file with a list of entries.
///
/// ```
/// use cargo_kube::types::Overrides;
///
/// Overrides::parse("overrides.yaml", "
/// - crd: apps.example.com                                      # optional: all definitions
///   version: v1                                                # optional: all versions
///   path: .spec.template
///   type: k8s_openapi::api::core::v1::PodTemplateSpec          # this type, and no generated one
/// - path: .spec.rules[*].selector
///   type: generated                                            # a type of its own, although it is like one of k8s-openapi
/// - path: .spec.rules[*]
///   name: Rule                                                 # the name of the generated type
/// ")?;
/// # Ok::<(), cargo_kube::types::Error>(())
/// ```
///
/// A path begins with a dot; `[*]` stands for the items of a list and for the values of a map. The type has to implement `Clone`, `Debug`,
/// `PartialEq`, `Serialize` and `Deserialize`, and is written as it is: begin it with `crate::`, or with the name of a dependency. The
/// schema stays that of the definition.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    file: String,
    entries: Vec<Entry>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    crd: Option<String>,
    version: Option<String>,
    path: String,
    #[serde(rename = "type")]
    type_: Option<String>,
    name: Option<String>,
}

/// Which entries have found their field: one without a field is a mistake.
#[derive(Debug)]
pub(super) struct Used(Vec<bool>);

/// What an entry says about a field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Override<'a> {
    /// A type of Rust.
    Type(&'a str),
    /// A generated type, though one of k8s-openapi has the same fields.
    Generated,
    /// A generated type of this name.
    Name(&'a str),
}

impl Overrides {
    /// Reads the file.
    ///
    /// # Errors
    /// [`Error::Io`] if it is not readable, and as [`Overrides::parse`].
    pub fn read(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let text =
            std::fs::read_to_string(path).map_err(|source| Error::Io { path: path.to_owned(), source })?;
        Self::parse(&path.display().to_string(), &text)
    }

    /// Parses the text of the file with this path.
    ///
    /// # Errors
    /// [`Error::Overrides`] for what is not such a list, and for texts that are no type or no name.
    pub fn parse(file: &str, text: &str) -> Result<Self, Error> {
        let fail = |reason: String| Error::Overrides { file: file.to_owned(), reason };
        let entries: Vec<Entry> = serde_saphyr::from_str(text).map_err(|err| fail(err.to_string()))?;
        for (at, entry) in entries.iter().enumerate() {
            let fail = |reason: &str| fail(format!("entry {}, path {}: {reason}", at + 1, entry.path));
            if !entry.path.starts_with('.') {
                return Err(fail("expected a path that begins with a dot, such as .spec.template"));
            }
            match (&entry.type_, &entry.name) {
                (Some(text), None) if syn::parse_str::<syn::Type>(text).is_err() => {
                    return Err(fail(&format!(
                        "type: expected a type of Rust or `generated`, found `{text}`"
                    )));
                }
                (None, Some(text)) if !is_type_name(text) => {
                    return Err(fail(&format!(
                        "name: expected the name of a type, such as Rule, found `{text}`"
                    )));
                }
                (Some(_), None) | (None, Some(_)) => {}
                _ => return Err(fail("expected either `type` or `name`")),
            }
        }
        Ok(Self { file: file.to_owned(), entries })
    }

    /// The last entry for this field; later entries have priority.
    pub(super) fn of(
        &self,
        crd: &CustomResourceDefinition,
        version: &str,
        path: &str,
        used: &mut Used,
    ) -> Option<Override<'_>> {
        let is =
            |wanted: &Option<String>, found: Option<&str>| wanted.is_none() || wanted.as_deref() == found;
        let found = self.entries.iter().zip(&mut used.0).filter(|(entry, _)| {
            entry.path == path
                && is(&entry.crd, crd.metadata.name.as_deref())
                && is(&entry.version, Some(version))
        });
        let mut last = None;
        for (entry, used) in found {
            *used = true;
            last = Some(entry);
        }
        let entry = last?;
        match (entry.type_.as_deref(), entry.name.as_deref()) {
            (Some("generated"), _) => Some(Override::Generated),
            (Some(text), _) => Some(Override::Type(text)),
            (None, name) => name.map(Override::Name),
        }
    }

    /// The state of a run, in which no entry was used.
    pub(super) fn unused(&self) -> Used {
        Used(vec![false; self.entries.len()])
    }

    /// # Errors
    /// If an entry was not used.
    pub(super) fn check(&self, used: &Used) -> Result<(), Error> {
        let unused = self.entries.iter().enumerate().find(|(at, _)| !used.0[*at]);
        unused.map_or(Ok(()), |(at, entry)| {
            let crd = entry.crd.as_deref().unwrap_or("any definition");
            let reason = format!("entry {}: expected a field {} in {crd}, found none", at + 1, entry.path);
            Err(Error::Overrides { file: self.file.clone(), reason })
        })
    }
}

fn is_type_name(text: &str) -> bool {
    syn::parse_str::<syn::Ident>(text).is_ok()
        && text.starts_with(|c: char| c.is_ascii_uppercase())
        && text.is_ascii()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_the_entry_and_what_was_expected() {
        let error = |text: &str| Overrides::parse("o.yaml", text).unwrap_err().to_string();
        assert_eq!(
            error("[{path: spec, name: A}]"),
            "o.yaml: entry 1, path spec: expected a path that begins with a dot, such as .spec.template"
        );
        assert_eq!(error("[{path: .a}]"), "o.yaml: entry 1, path .a: expected either `type` or `name`");
        assert!(error("[{path: .a, type: 'a; fn x() {}'}]").contains("expected a type of Rust"));
        assert!(error("[{path: .a, name: 'A {} struct B'}]").contains("expected the name of a type"));
        assert!(error("[{path: .a, title: A}]").contains("title"));
    }

    #[test]
    fn the_last_entry_counts_and_unused_entries_are_errors() {
        let overrides = Overrides::parse(
            "o.yaml",
            "[{path: .a, name: A}, {path: .a, name: B, version: v1}, {path: .b, type: generated}]",
        )
        .unwrap();
        let crd = CustomResourceDefinition::default();
        let mut used = overrides.unused();
        assert_eq!(overrides.of(&crd, "v1", ".a", &mut used), Some(Override::Name("B")));
        assert_eq!(overrides.of(&crd, "v2", ".a", &mut used), Some(Override::Name("A")));
        assert_eq!(
            overrides.check(&used).unwrap_err().to_string(),
            "o.yaml: entry 3: expected a field .b in any definition, found none"
        );
        assert_eq!(overrides.of(&crd, "v2", ".b", &mut used), Some(Override::Generated));
        overrides.check(&used).unwrap();
    }
}
