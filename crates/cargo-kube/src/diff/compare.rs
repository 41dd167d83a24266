//! [`compare`]: two sets of definitions.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, CustomResourceDefinitionVersion, JSONSchemaProps,
};

use super::change::Change;
use super::rule::{Check, Definitions as Both, Finding, Pair, Rule};
use super::table::rules;
use super::walk::walk;
use crate::types::Definitions;

/// What `new` changes and the rules know, in the order of the definitions and of the rules.
///
/// Definitions are the same if their names are (`pages.example.com`). The versions in which objects are stored are those of
/// `status.storedVersions` of the old definition, or its storage version if it was not read from a cluster.
#[must_use]
pub fn compare(old: &Definitions, new: &Definitions) -> Vec<Change> {
    let mut changes = Vec::new();
    for crd in old.iter() {
        match new.iter().find(|other| name(other) == name(crd)) {
            Some(new) => changes.extend(compare_one(crd, new, old.stored_versions(name(crd)))),
            None => changes.extend(alone(crd, |check| matches!(check, Check::OnlyOld), "removed")),
        }
    }
    for crd in new.iter().filter(|crd| !old.iter().any(|other| name(other) == name(crd))) {
        changes.extend(alone(crd, |check| matches!(check, Check::OnlyNew), "added"));
    }
    changes
}

fn alone<'a>(
    crd: &'a CustomResourceDefinition,
    asks: impl Fn(&Check) -> bool + 'a,
    change: &'a str,
) -> impl Iterator<Item = Change> + 'a {
    let found = rules().filter(move |rule| asks(&rule.check));
    found.map(move |rule| Change::new(rule, name(crd), None, "", Finding::here(change)))
}

fn compare_one(
    old: &CustomResourceDefinition,
    new: &CustomResourceDefinition,
    stored: &[String],
) -> Vec<Change> {
    let crd = name(old);
    let mut changes = Vec::new();
    for rule in rules() {
        if let Check::Definition(check) = &rule.check {
            let found = check(&Both { old, new, stored });
            changes.extend(found.into_iter().map(|finding| Change::new(rule, crd, None, "", finding)));
        }
    }
    for of_old in &old.spec.versions {
        let Some(of_new) = version(new, &of_old.name) else { continue };
        let path = format!("spec.versions[{}]", of_old.name);
        for rule in rules() {
            if let Check::Version(check) = &rule.check {
                let found = check(Pair { old: of_old, new: of_new });
                changes.extend(found.into_iter().map(|finding| Change::new(rule, crd, None, &path, finding)));
            }
        }
        let all: Vec<_> = rules().collect();
        changes.extend(compare_schemas(&all, crd, &of_old.name, of_old, of_new));
    }
    changes.extend(compare_added(old, new, stored));
    changes
}

/// New versions with those in which objects are stored, if objects are converted by name only.
fn compare_added(
    old: &CustomResourceDefinition,
    new: &CustomResourceDefinition,
    stored: &[String],
) -> Vec<Change> {
    if new.spec.conversion.as_ref().is_some_and(|conversion| conversion.strategy != "None") {
        return Vec::new();
    }
    let about_objects: Vec<_> = rules().filter(|rule| rule.breaks.objects()).collect();
    let mut changes = Vec::new();
    let added = new.spec.versions.iter().filter(|it| version(old, &it.name).is_none());
    for of_new in added.filter(|version| version.served || version.storage) {
        for of_old in stored.iter().filter_map(|stored| version(old, stored)) {
            let versions = format!("{} -> {}", of_old.name, of_new.name);
            changes.extend(compare_schemas(&about_objects, name(old), &versions, of_old, of_new));
        }
    }
    changes
}

fn compare_schemas(
    rules: &[&'static Rule],
    crd: &str,
    version: &str,
    old: &CustomResourceDefinitionVersion,
    new: &CustomResourceDefinitionVersion,
) -> Vec<Change> {
    let mut changes = Vec::new();
    if let (Some(old), Some(new)) = (schema(old), schema(new)) {
        walk(rules, Pair { old, new }, "", &mut |rule, path, finding| {
            changes.push(Change::new(rule, crd, Some(version), path, finding));
        });
    }
    changes
}

fn schema(version: &CustomResourceDefinitionVersion) -> Option<&JSONSchemaProps> {
    version.schema.as_ref()?.open_api_v3_schema.as_ref()
}

fn version<'a>(crd: &'a CustomResourceDefinition, name: &str) -> Option<&'a CustomResourceDefinitionVersion> {
    crd.spec.versions.iter().find(|version| version.name == name)
}

fn name(crd: &CustomResourceDefinition) -> &str {
    crd.metadata.name.as_deref().unwrap_or_default()
}
