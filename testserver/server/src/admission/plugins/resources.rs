//! Resources of pods: sums of requests and limits.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::object::quantity::Quantity;

/// Amounts by resource name.
pub(crate) type ResourceList = BTreeMap<String, Quantity>;

/// Whether a sum includes the overhead of the runtime class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Overhead {
    Included,
    Excluded,
}

/// Reads a map of quantities.
pub(crate) fn resource_list(value: &Value) -> ResourceList {
    let members = value.as_object().into_iter().flatten();
    members.filter_map(|(name, amount)| Some((name.clone(), Quantity::read(amount)?))).collect()
}

/// All containers that start with the pod, then its init containers.
pub(super) fn containers(spec: &Value) -> impl Iterator<Item = (&'static str, &Value)> {
    let of = |list: &str| spec[list].as_array().into_iter().flatten();
    let first = of("containers").map(|container| ("container", container));
    first.chain(of("initContainers").map(|container| ("init container", container)))
}

/// The `requests` or `limits` of a pod: the sum of its containers, or its largest init container.
pub(super) fn pod_total(spec: &Value, list: &str, overhead: Overhead) -> ResourceList {
    let mut total = ResourceList::new();
    for container in spec["containers"].as_array().into_iter().flatten() {
        add(&mut total, &resource_list(&container["resources"][list]));
    }
    let (mut sidecars, mut largest) = (ResourceList::new(), ResourceList::new());
    for container in spec["initContainers"].as_array().into_iter().flatten() {
        let mut own = resource_list(&container["resources"][list]);
        if container["restartPolicy"] == "Always" {
            add(&mut total, &own);
            add(&mut sidecars, &own);
            own.clone_from(&sidecars);
        } else {
            // It runs beside the sidecars that started before it.
            add(&mut own, &sidecars);
        }
        raise(&mut largest, &own);
    }
    raise(&mut total, &largest);
    // Resources of the whole pod take precedence over those of its containers.
    total.extend(resource_list(&spec["resources"][list]));
    if overhead == Overhead::Included {
        let more = resource_list(&spec["overhead"]);
        for (name, amount) in more {
            match total.get_mut(&name) {
                Some(sum) => *sum = sum.plus(amount),
                // No limit stays no limit.
                None if list == "limits" => {}
                None => drop(total.insert(name, amount)),
            }
        }
    }
    total
}

/// Adds each amount.
pub(super) fn add(total: &mut ResourceList, more: &ResourceList) {
    for (name, amount) in more {
        let sum = total.get(name).copied().unwrap_or(Quantity::ZERO).plus(*amount);
        total.insert(name.clone(), sum);
    }
}

/// Takes the larger of each amount.
fn raise(total: &mut ResourceList, other: &ResourceList) {
    for (name, amount) in other {
        if total.get(name).is_none_or(|present| present < amount) {
            total.insert(name.clone(), *amount);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(cpu: &str) -> Value {
        json!({"resources": {"requests": {"cpu": cpu}}})
    }

    fn cpu(spec: &Value, overhead: Overhead) -> String {
        pod_total(spec, "requests", overhead)["cpu"].to_string()
    }

    #[test]
    fn init_containers_run_before_the_others_and_sidecars_beside_them() {
        let sidecar = |cpu: &str| {
            let mut container = of(cpu);
            container["restartPolicy"] = "Always".into();
            container
        };
        let mut spec =
            json!({"containers": [of("200m"), of("300m"), {}], "initContainers": [of("400m"), of("100m")]});
        assert_eq!(cpu(&spec, Overhead::Excluded), "500m");
        spec["initContainers"] = json!([of("2")]);
        assert_eq!(cpu(&spec, Overhead::Excluded), "2");
        spec["initContainers"] = json!([sidecar("100m"), of("600m")]);
        assert_eq!(cpu(&spec, Overhead::Excluded), "700m", "the init container and the sidecar before it");
        spec["overhead"] = json!({"cpu": "50m"});
        assert_eq!(cpu(&spec, Overhead::Included), "750m");
        spec["resources"] = json!({"requests": {"cpu": "3"}});
        assert_eq!(cpu(&spec, Overhead::Excluded), "3", "resources of the pod");
    }

    #[test]
    fn overhead_adds_to_limits_that_are_set() {
        let spec = json!({"containers": [{"resources": {"limits": {"cpu": "1"}}}], "overhead": {"cpu": "1", "memory": "1"}});
        let limits = pod_total(&spec, "limits", Overhead::Included);
        assert_eq!((limits.len(), limits["cpu"].to_string()), (1, "2".into()));
        assert_eq!(pod_total(&spec, "requests", Overhead::Included)["memory"].to_string(), "1");
    }
}
