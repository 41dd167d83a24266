//! LimitRanges: types, resource names, and limits that agree with each other.

use std::collections::BTreeSet;

use serde_json::Value;

use super::Write;
use crate::{
    object::quantity::Quantity,
    schema::ErrorList,
    validation::values::{items, text},
};

const TYPES: [&str; 3] = ["Container", "PersistentVolumeClaim", "Pod"];
const OF_CONTAINERS: [&str; 3] = ["cpu", "ephemeral-storage", "memory"];
const LISTS: [&str; 5] = ["max", "min", "default", "defaultRequest", "maxLimitRequestRatio"];
/// The lists that pods do not have.
const OF_OTHERS: [&str; 2] = ["default", "defaultRequest"];
const NAME: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
    alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
    '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

pub(super) fn validate(write: &Write<'_>, errors: &mut ErrorList) {
    let mut seen = BTreeSet::new();
    for (i, item) in items(write.spec(), "limits") {
        let (at, kind) = (format!("spec.limits[{i}]"), text(item, "type"));
        let of_type = format!("{at}.type");
        if kind.is_empty() {
            errors.text(of_type.clone(), kind, Some("name part must be non-empty".into()));
            errors.text(of_type.clone(), kind, Some(NAME.into()));
        } else if !kind.contains('/') && !TYPES.contains(&kind) {
            let why = "must be a standard limit type or fully qualified";
            errors.text(of_type.clone(), kind, Some(why.into()));
        }
        if !seen.insert(kind) {
            errors.repeated(of_type, kind);
        }
        for list in LISTS.into_iter().filter(|list| kind != "Pod" || !OF_OTHERS.contains(list)) {
            for name in item[list].as_object().into_iter().flatten().map(|(name, _)| name) {
                resource(format!("{at}.{list}[{name}]"), name, kind, errors);
            }
        }
        Item { at, item, errors }.check(kind);
    }
}

fn resource(field: String, name: &str, kind: &str, errors: &mut ErrorList) {
    let standard = OF_CONTAINERS.contains(&name) || name.starts_with("hugepages-");
    let is_resource =
        standard || name.contains('/') || matches!(name, "storage" | "pods" | "services" | "secrets");
    if !is_resource {
        errors.text(field.clone(), name, Some("must be a standard resource type or fully qualified".into()));
    }
    if matches!(kind, "Container" | "Pod") && !standard && !name.contains('/') {
        errors.text(field, name, Some("must be a standard resource for containers".into()));
    }
}

struct Item<'a, 'e> {
    at: String,
    item: &'a Value,
    errors: &'e mut ErrorList,
}

impl Item<'_, '_> {
    fn check(&mut self, kind: &str) {
        let set = |list: &str| self.item[list].as_object().is_some_and(|list| !list.is_empty());
        if kind == "Pod" {
            for list in OF_OTHERS.into_iter().filter(|list| set(list)) {
                let why = "may not be specified when `type` is 'Pod'";
                self.errors.forbidden(format!("{}.{list}", self.at), why);
            }
        }
        let storage = |list: &str| !self.item[list]["storage"].is_null();
        if kind == "PersistentVolumeClaim" && !storage("min") && !storage("max") {
            let why = "either minimum or maximum storage value is required, but neither was provided";
            self.errors.required(format!("{}.limits", self.at), why);
        }
        let lists = LISTS.iter().filter_map(|list| self.item[list].as_object());
        let names: BTreeSet<String> = lists.flat_map(|list| list.keys().cloned()).collect();
        for name in names {
            self.resource(&name, kind);
        }
    }

    /// Refuses amounts of one resource that contradict each other.
    fn resource(&mut self, name: &str, kind: &str) {
        let read = |list: &str| Quantity::read(&self.item[list][name]);
        let of_containers = |list: &str| read(list).filter(|_| kind != "Pod");
        let (min, max, ratio) = (read("min"), read("max"), read("maxLimitRequestRatio"));
        let (limit, request) = (of_containers("default"), of_containers("defaultRequest"));
        // What is compared: larger, smaller, the list that the error names, and whether it shows the smaller one.
        for (larger, smaller, list, shows_smaller, what) in [
            (min, max, "min", false, ["min value", "max value"]),
            (min, request, "defaultRequest", true, ["min value", "default request value"]),
            (request, max, "defaultRequest", false, ["default request value", "max value"]),
            (request, limit, "defaultRequest", false, ["default request value", "default limit value"]),
            (min, limit, "default", false, ["min value", "default value"]),
            (limit, max, "default", true, ["default value", "max value"]),
        ] {
            if let (Some(larger), Some(smaller)) = (larger, smaller)
                && larger > smaller
            {
                let why = format!("{} {larger} is greater than {} {smaller}", what[0], what[1]);
                self.refuse(list, name, if shows_smaller { smaller } else { larger }, &why);
            }
        }
        let Some(ratio) = ratio else { return };
        if ratio < Quantity::of(1) {
            self.refuse("maxLimitRequestRatio", name, ratio, &format!("ratio {ratio} is less than 1"));
        }
        if let (Some(min), Some(max)) = (min.filter(|min| !min.is_zero()), max) {
            let possible = max.ratio(min);
            if ratio.ratio(Quantity::of(1)) > possible {
                let why = format!("ratio {ratio} is greater than max/min = {possible:.6}");
                self.refuse("maxLimitRequestRatio", name, ratio, &why);
            }
        }
    }

    fn refuse(&mut self, list: &str, name: &str, printed: Quantity, why: &str) {
        let field = format!("{}.{list}[{name}]", self.at);
        self.errors.invalid(field, format!("{:?}", printed.to_string()), why);
    }
}
