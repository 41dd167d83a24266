//! Services: the first cluster IP is fixed, unless the Service becomes or was an ExternalName.

use serde_json::Value;

use crate::schema::ErrorList;

pub(super) fn check(old: &Value, new: &Value, errors: &mut ErrorList) {
    let (before, now) = (&old["spec"], &new["spec"]);
    let (port, other) = (&before["healthCheckNodePort"], &now["healthCheckNodePort"]);
    if port.is_number() && other.is_number() && port != other {
        errors.forbidden("spec.healthCheckNodePort", "field is immutable");
    }
    let class = |spec: &Value| (spec["type"] == "LoadBalancer").then(|| spec["loadBalancerClass"].clone());
    if let (Some(former), Some(class)) = (class(before), class(now))
        && former != class
    {
        errors.invalid("spec.loadBalancerClass", class, "may not change once set");
    }
    if before["type"] == "ExternalName" || now["type"] == "ExternalName" {
        return;
    }
    let address = |spec: &Value| spec["clusterIP"].as_str().unwrap_or_default().to_owned();
    let (former, first) = (address(before), address(now));
    let listed = &now["clusterIPs"];
    if !former.is_empty() && listed[0] != *former {
        errors.invalid("spec.clusterIPs[0]", listed, "may not change once set");
    }
    if listed[0] != *first {
        errors.invalid("spec.clusterIPs", listed, "first value must match `clusterIP`");
    }
}
