//! Rules about definitions and their versions: scope, names, conversion, subresources.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, CustomResourceDefinitionNames, CustomResourceDefinitionVersion,
    CustomResourceSubresourceScale,
};

use super::rule::{Breaks, Check, Finding, Pair, Rule};

pub(super) const RULES: &[Rule] = &[
    Rule::new(
        "definition-removed",
        Breaks::ObjectsAndClients,
        "a server deletes all objects of a definition that is deleted",
        Check::OnlyOld,
    ),
    Rule::new("definition-added", Breaks::Nothing, "nothing is stored yet", Check::OnlyNew),
    Rule::new(
        "scope-changed",
        Breaks::ObjectsAndClients,
        "servers refuse it: the definition and all objects would have to be deleted first",
        Check::Definition(|both| changed("spec.scope", &both.old.spec.scope, &both.new.spec.scope)),
    ),
    Rule::new(
        "kind-changed",
        Breaks::ObjectsAndClients,
        "stored objects and clients name the old kind",
        Check::Definition(|both| {
            changed("spec.names.kind", &both.old.spec.names.kind, &both.new.spec.names.kind)
        }),
    ),
    Rule::new(
        "list-kind-changed",
        Breaks::Clients,
        "clients that read lists by kind do not know the new one",
        Check::Definition(|both| {
            let kind = |crd: &CustomResourceDefinition| {
                let names = &crd.spec.names;
                names.list_kind.clone().unwrap_or_else(|| format!("{}List", names.kind))
            };
            changed("spec.names.listKind", &kind(both.old), &kind(both.new))
        }),
    ),
    Rule::new(
        "short-name-removed",
        Breaks::Clients,
        "kubectl and scripts no longer find the kind by that name",
        Check::Definition(|both| {
            let names = |names: &CustomResourceDefinitionNames| {
                let singular = names.singular.clone().unwrap_or_else(|| names.kind.to_lowercase());
                names.short_names.iter().flatten().cloned().chain([singular]).collect()
            };
            removed("spec.names", names(&both.old.spec.names), &names(&both.new.spec.names))
        }),
    ),
    Rule::new(
        "category-removed",
        Breaks::Clients,
        "kubectl and scripts no longer list the kind in that category",
        Check::Definition(|both| {
            let of = |crd: &CustomResourceDefinition| crd.spec.names.categories.clone().unwrap_or_default();
            removed("spec.names.categories", of(both.old), &of(both.new))
        }),
    ),
    Rule::new(
        "conversion-removed",
        Breaks::ObjectsAndClients,
        "objects are converted by name only, which drops what the other version lacks",
        Check::Definition(|both| match (strategy(both.old), strategy(both.new)) {
            ("Webhook", "None") => vec![Finding::at("spec.conversion", "None, was Webhook")],
            _ => Vec::new(),
        }),
    ),
    Rule::new(
        "conversion-changed",
        Breaks::Nothing,
        "the new webhook has to convert between all versions before the definition is applied",
        Check::Definition(|both| {
            if strategy(both.new) == "None" || both.old.spec.conversion == both.new.spec.conversion {
                return Vec::new();
            }
            vec![Finding::at("spec.conversion", "another webhook, or new versions of its reviews")]
        }),
    ),
    Rule::new(
        "preserve-unknown-fields-off",
        Breaks::ObjectsAndClients,
        "fields that the schemas lack are dropped from then on",
        Check::Definition(|both| {
            let is = |crd: &CustomResourceDefinition| crd.spec.preserve_unknown_fields == Some(true);
            when(is(both.old) && !is(both.new), "spec.preserveUnknownFields", "false, was true")
        }),
    ),
    Rule::new(
        "version-removed",
        Breaks::Clients,
        "requests of the version get 404",
        Check::Definition(|both| {
            versions(both.old, |version| version.served && find(both.new, version).is_none(), "removed")
        }),
    ),
    Rule::new(
        "version-unserved",
        Breaks::Clients,
        "requests of the version get 404",
        Check::Definition(|both| {
            let is_served = |version: &_| find(both.new, version).is_none_or(|version| version.served);
            versions(both.old, |version| version.served && !is_served(version), "no longer served")
        }),
    ),
    Rule::new(
        "stored-version-removed",
        Breaks::Objects,
        "servers refuse it while objects may be stored in the version: run `cargo kube crd migrate` first",
        Check::Definition(|both| {
            let is_stored = |version: &CustomResourceDefinitionVersion| both.stored.contains(&version.name);
            versions(both.old, |version| is_stored(version) && find(both.new, version).is_none(), "removed")
        }),
    ),
    Rule::new(
        "storage-version-changed",
        Breaks::Nothing,
        "objects stay in the old version until they are written again: run `cargo kube crd migrate`",
        Check::Definition(|both| {
            let of = |crd: &CustomResourceDefinition| {
                let storage = crd.spec.versions.iter().find(|version| version.storage);
                storage.map(|version| version.name.clone()).unwrap_or_default()
            };
            changed("spec.versions", &of(both.old), &of(both.new))
        }),
    ),
    Rule::new(
        "version-added",
        Breaks::Nothing,
        "clients may start to use it",
        Check::Definition(|both| versions(both.new, |version| find(both.old, version).is_none(), "added")),
    ),
    Rule::new(
        "version-deprecated",
        Breaks::Nothing,
        "clients of the version get a warning with each response",
        Check::Version(|Pair { old, new }| {
            let is = |version: &CustomResourceDefinitionVersion| version.deprecated == Some(true);
            when(!is(old) && is(new), ".deprecated", "true")
        }),
    ),
    Rule::new(
        "status-subresource-removed",
        Breaks::Clients,
        "writes of the status get 404, and ordinary writes overwrite it",
        Check::Version(|Pair { old, new }| {
            when(has_status(old) && !has_status(new), ".subresources.status", "removed")
        }),
    ),
    Rule::new(
        "status-subresource-added",
        Breaks::Clients,
        "ordinary writes no longer change the status",
        Check::Version(|Pair { old, new }| {
            when(!has_status(old) && has_status(new), ".subresources.status", "added")
        }),
    ),
    Rule::new(
        "scale-subresource-removed",
        Breaks::Clients,
        "autoscalers and `kubectl scale` get 404",
        Check::Version(|Pair { old, new }| {
            when(scale(old).is_some() && scale(new).is_none(), ".subresources.scale", "removed")
        }),
    ),
    Rule::new(
        "scale-subresource-changed",
        Breaks::Clients,
        "autoscalers and `kubectl scale` read and write other fields",
        Check::Version(|Pair { old, new }| match (scale(old), scale(new)) {
            (Some(old), Some(new)) => when(old != new, ".subresources.scale", "other paths"),
            _ => Vec::new(),
        }),
    ),
    Rule::new(
        "selectable-field-removed",
        Breaks::Clients,
        "lists and watches with a selector of that field get 400",
        Check::Version(|Pair { old, new }| {
            let of = |version: &CustomResourceDefinitionVersion| {
                let fields = version.selectable_fields.iter().flatten();
                fields.map(|field| field.json_path.clone()).collect()
            };
            removed(".selectableFields", of(old), &of(new))
        }),
    ),
    Rule::new(
        "printer-columns-changed",
        Breaks::Nothing,
        "`kubectl get` prints other columns",
        Check::Version(|Pair { old, new }| {
            let of = |version: &CustomResourceDefinitionVersion| {
                version.additional_printer_columns.clone().unwrap_or_default()
            };
            when(of(old) != of(new), ".additionalPrinterColumns", "changed")
        }),
    ),
];

fn when(is: bool, below: &str, change: &str) -> Vec<Finding> {
    if is { vec![Finding::at(below, change)] } else { Vec::new() }
}

fn changed(below: &str, old: &str, new: &str) -> Vec<Finding> {
    when(old != new, below, &format!("{new}, was {old}"))
}

fn removed(below: &str, old: Vec<String>, new: &[String]) -> Vec<Finding> {
    let removed = old.into_iter().filter(|name| !new.contains(name));
    removed.map(|name| Finding::at(below, format!("{name} was removed"))).collect()
}

/// A finding for each version of which `is` is true.
fn versions(
    crd: &CustomResourceDefinition,
    is: impl Fn(&CustomResourceDefinitionVersion) -> bool,
    change: &str,
) -> Vec<Finding> {
    let versions = crd.spec.versions.iter().filter(|version| is(version));
    versions.map(|version| Finding::at(format!("spec.versions[{}]", version.name), change)).collect()
}

fn find<'a>(
    crd: &'a CustomResourceDefinition,
    version: &CustomResourceDefinitionVersion,
) -> Option<&'a CustomResourceDefinitionVersion> {
    crd.spec.versions.iter().find(|other| other.name == version.name)
}

fn strategy(crd: &CustomResourceDefinition) -> &str {
    crd.spec.conversion.as_ref().map_or("None", |conversion| conversion.strategy.as_str())
}

fn has_status(version: &CustomResourceDefinitionVersion) -> bool {
    version.subresources.as_ref().is_some_and(|subresources| subresources.status.is_some())
}

fn scale(version: &CustomResourceDefinitionVersion) -> Option<&CustomResourceSubresourceScale> {
    version.subresources.as_ref()?.scale.as_ref()
}
