//! The limits of pods and claims, and how an object violates them.

use serde_json::Value;

use crate::{
    admission::plugins::resources::{Overhead, ResourceList, containers, pod_total, resource_list},
    object::quantity::Quantity,
};

/// The amounts that are compared with one item of a LimitRange.
struct Amounts<'a> {
    /// `Container`, `Pod` or `PersistentVolumeClaim`.
    kind: &'a str,
    requests: ResourceList,
    limits: ResourceList,
}

/// What of a pod is outside of an item of a LimitRange.
pub(super) fn of_pod(item: &Value, pod: &Value) -> Vec<String> {
    let spec = &pod["spec"];
    match item["type"].as_str().unwrap_or_default() {
        kind @ "Container" => {
            let each = containers(spec).map(|(_, container)| Amounts {
                kind,
                requests: resource_list(&container["resources"]["requests"]),
                limits: resource_list(&container["resources"]["limits"]),
            });
            each.flat_map(|amounts| amounts.problems(item)).collect()
        }
        kind @ "Pod" => Amounts {
            kind,
            requests: pod_total(spec, "requests", Overhead::Excluded),
            limits: pod_total(spec, "limits", Overhead::Excluded),
        }
        .problems(item),
        _ => Vec::new(),
    }
}

/// What of a claim is outside of an item of a LimitRange.
pub(super) fn of_claim(item: &Value, claim: &Value) -> Vec<String> {
    let kind = "PersistentVolumeClaim";
    if item["type"] != kind {
        return Vec::new();
    }
    let of = |list: &str| resource_list(&claim["spec"]["resources"][list]);
    let amounts = Amounts { kind, requests: of("requests"), limits: of("limits") };
    let mut problems = amounts.below(&resource_list(&item["min"]));
    for (name, largest) in resource_list(&item["max"]) {
        problems.extend(amounts.requests_above(&name, largest));
    }
    problems
}

impl Amounts<'_> {
    fn problems(&self, item: &Value) -> Vec<String> {
        let mut problems = self.below(&resource_list(&item["min"]));
        for (name, largest) in resource_list(&item["max"]) {
            problems.extend(self.limits_above(&name, largest));
        }
        for (name, largest) in resource_list(&item["maxLimitRequestRatio"]) {
            problems.extend(self.ratio_above(&name, largest));
        }
        problems
    }

    fn below(&self, smallest: &ResourceList) -> Vec<String> {
        let problem = |(name, smallest): (&String, &Quantity)| {
            let rule = format!("minimum {name} usage per {} is {smallest}", self.kind);
            match (self.requests.get(name), self.limits.get(name)) {
                (None, _) => Some(format!("{rule}.  No request is specified")),
                (Some(request), _) if request < smallest => Some(format!("{rule}, but request is {request}")),
                (_, Some(limit)) if limit < smallest => Some(format!("{rule}, but limit is {limit}")),
                _ => None,
            }
        };
        smallest.iter().filter_map(problem).collect()
    }

    fn limits_above(&self, name: &str, largest: Quantity) -> Option<String> {
        let rule = format!("maximum {name} usage per {} is {largest}", self.kind);
        match (self.limits.get(name), self.requests.get(name)) {
            (None, _) => Some(format!("{rule}.  No limit is specified")),
            (Some(limit), _) if *limit > largest => Some(format!("{rule}, but limit is {limit}")),
            (_, Some(request)) if *request > largest => Some(format!("{rule}, but request is {request}")),
            _ => None,
        }
    }

    fn requests_above(&self, name: &str, largest: Quantity) -> Option<String> {
        let rule = format!("maximum {name} usage per {} is {largest}", self.kind);
        match self.requests.get(name) {
            None => Some(format!("{rule}.  No request is specified")),
            Some(request) if *request > largest => Some(format!("{rule}, but request is {request}")),
            Some(_) => None,
        }
    }

    fn ratio_above(&self, name: &str, largest: Quantity) -> Option<String> {
        let rule = format!("{name} max limit to request ratio per {} is {largest}", self.kind);
        let amount = |list: &ResourceList| list.get(name).copied().filter(|amount| !amount.is_zero());
        let Some(request) = amount(&self.requests) else {
            return Some(format!("{rule}, but no request is specified or request is 0"));
        };
        let Some(limit) = amount(&self.limits) else {
            return Some(format!("{rule}, but no limit is specified or limit is 0"));
        };
        let ratio = limit.ratio(request);
        (ratio > largest.ratio(Quantity::of(1))).then(|| format!("{rule}, but provided ratio is {ratio:.6}"))
    }
}
