//! Services: the first cluster IP is fixed, unless the Service becomes or was an ExternalName.

use serde_json::{Value, json};

use crate::schema::FieldError;

pub(super) fn check(old: &Value, new: &Value, errors: &mut Vec<FieldError>) {
    let (before, now) = (&old["spec"], &new["spec"]);
    let (port, other) = (&before["healthCheckNodePort"], &now["healthCheckNodePort"]);
    if port.is_number() && other.is_number() && port != other {
        errors.push(FieldError::forbidden("spec.healthCheckNodePort", "field is immutable"));
    }
    if before["type"] == "ExternalName" || now["type"] == "ExternalName" {
        return;
    }
    let address = |spec: &Value| spec["clusterIP"].as_str().unwrap_or_default().to_owned();
    let (former, first) = (address(before), address(now));
    let listed = &now["clusterIPs"];
    // A client that changes only `clusterIP` means both.
    let listed =
        if former != first && *listed == before["clusterIPs"] { json!([first]) } else { listed.clone() };
    if !former.is_empty() && listed[0] != *former {
        errors.push(FieldError::invalid("spec.clusterIPs[0]", &listed, "may not change once set"));
    }
    if listed[0] != *first {
        errors.push(FieldError::invalid("spec.clusterIPs", &listed, "first value must match `clusterIP`"));
    }
}
