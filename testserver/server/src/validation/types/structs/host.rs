//! Pods in the namespaces of their node: users, ports and kernel parameters.

use serde_json::Value;

use super::values::{items, text};
use crate::schema::ErrorList;

pub(super) fn namespaces(pod: &Value, at: &str, errors: &mut ErrorList) {
    users(pod, at, errors);
    if pod["hostNetwork"] == true {
        for list in ["containers", "initContainers"] {
            for (i, container) in items(pod, list) {
                ports(container, &format!("{at}.{list}[{i}]"), errors);
            }
        }
    }
    for (i, parameter) in items(&pod["securityContext"], "sysctls") {
        let place = format!("{at}.securityContext.sysctls[{i}].name");
        let name = text(parameter, "name");
        let within = |families: &[&str]| families.iter().any(|family| name.starts_with(family));
        let why = match name {
            "" => continue,
            _ if !is_parameter(name) => {
                "must have at most 253 characters and match regex \
                 ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$"
            }
            _ if pod["hostNetwork"] == true && within(&["net."]) => {
                "may not be specified when 'hostNetwork' is true"
            }
            _ if pod["hostIPC"] == true
                && within(&["kernel.shm", "kernel.msg", "kernel.sem", "fs.mqueue."]) =>
            {
                "may not be specified when 'hostIPC' is true"
            }
            _ => continue,
        };
        errors.invalid(place, &parameter["name"], why);
    }
}

/// A pod with users of its own has none of the node's namespaces, and no block devices.
fn users(pod: &Value, at: &str, errors: &mut ErrorList) {
    const WHY: &str = "when `hostUsers` is false";
    let (own, lists) = (pod["hostUsers"] == false, ["containers", "initContainers"]);
    // As genuine servers spell them.
    let flags = [("hostNetwork", "hostNetwork"), ("hostPID", "HostPID"), ("hostIPC", "HostIPC")];
    for (_, printed) in flags.into_iter().filter(|(flag, _)| own && pod[*flag] == true) {
        errors.forbidden(format!("{at}.{printed}"), WHY);
    }
    for (list, i, container) in
        lists.iter().flat_map(|list| items(pod, list).map(move |(i, container)| (list, i, container)))
    {
        if own && items(container, "volumeDevices").next().is_some() {
            errors.forbidden(format!("{at}.{list}[{i}].volumeDevices"), WHY);
        }
        let mount = &container["securityContext"]["procMount"];
        if !own && mount == "Unmasked" {
            let why = "`hostUsers` must be false to use `Unmasked`";
            errors.invalid(format!("{at}.{list}[{i}].securityContext.procMount"), mount, why);
        }
    }
}

/// On the network of the node a port is the same inside and outside.
fn ports(container: &Value, at: &str, errors: &mut ErrorList) {
    for (i, port) in items(container, "ports") {
        let outside = &port["hostPort"];
        if outside.as_i64().unwrap_or(0) != 0 && *outside != port["containerPort"] {
            let why = "must match `containerPort` when `hostNetwork` is true";
            errors.invalid(format!("{at}.ports[{i}].hostPort"), outside, why);
        }
    }
}

/// Whether a kernel can have a parameter of this name.
fn is_parameter(name: &str) -> bool {
    let outer = |c: Option<char>| c.is_some_and(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_');
    let part =
        |part: &str| part.chars().all(inner) && outer(part.chars().next()) && outer(part.chars().next_back());
    name.len() <= 253 && name.split(['.', '/']).all(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_paths_of_lower_case_names() {
        for name in ["kernel.shmmax", "net/ipv4/tcp_syn-retries", "a"] {
            assert!(is_parameter(name), "{name}");
        }
        for name in ["A b", "net..x", ".a", "a.", "a_", &"a".repeat(254)] {
            assert!(!is_parameter(name), "{name}");
        }
    }
}
