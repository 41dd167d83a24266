//! Services, ingresses and network policies.

use serde_json::Value;

use super::values::{invalid, is_set, items, text};
use crate::schema::FieldError;

pub(super) fn service(value: &Value, at: &str, errors: &mut Vec<FieldError>) {
    let kind = text(value, "type");
    let port = &value["healthCheckNodePort"];
    if port.as_i64().is_some_and(|port| port != 0)
        && (kind != "LoadBalancer" || text(value, "externalTrafficPolicy") != "Local")
    {
        let why = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
        invalid(errors, format!("{at}.healthCheckNodePort"), port, why);
    }
    if kind == "ExternalName" && text(value, "externalName").is_empty() {
        errors.push(FieldError::required(format!("{at}.externalName"), ""));
    }
    let timeout = &value["sessionAffinityConfig"]["clientIP"]["timeoutSeconds"];
    if timeout.as_i64().is_some_and(|seconds| !(1..=86_400).contains(&seconds)) {
        let why = "must be greater than 0 and less than 86400";
        invalid(errors, format!("{at}.sessionAffinityConfig.clientIP.timeoutSeconds"), timeout, why);
    }
    if !matches!(kind, "NodePort" | "LoadBalancer") {
        for (i, _) in items(value, "ports").filter(|(_, port)| port["nodePort"].as_i64().unwrap_or(0) != 0) {
            let why = "may not be used when `type` is 'ClusterIP'";
            errors.push(FieldError::forbidden(format!("{at}.ports[{i}].nodePort"), why));
        }
    }
}

pub(super) fn backend(value: &Value, at: &str, errors: &mut Vec<FieldError>) {
    let (service, resource) = (&value["service"], &value["resource"]);
    if is_set(service) && is_set(resource) {
        errors.push(FieldError::invalid(at, "\"\"", "cannot set both resource and service backends"));
        return;
    }
    if service.is_null() && resource.is_null() {
        errors.push(FieldError::invalid(at, "\"\"", "must supply one of resource or service"));
    }
    let port = &service["port"];
    match (is_set(service), text(port, "name"), port["number"].as_i64().unwrap_or(0)) {
        (true, "", 0) => errors.push(FieldError::required(at, "port name or number is required")),
        (true, name, number) if !name.is_empty() && number != 0 => {
            errors.push(FieldError::invalid(at, "\"\"", "cannot set both port name & port number"));
        }
        _ => {}
    }
}

pub(super) fn peer(value: &Value, at: &str, errors: &mut Vec<FieldError>) {
    let selects = is_set(&value["podSelector"]) || is_set(&value["namespaceSelector"]);
    if is_set(&value["ipBlock"]) && selects {
        errors.push(FieldError::forbidden(at, "may not specify both ipBlock and another peer"));
    } else if value["ipBlock"].is_null() && !selects {
        errors.push(FieldError::required(at, "must specify a peer"));
    }
}

pub(super) fn policy_port(value: &Value, at: &str, errors: &mut Vec<FieldError>) {
    let Some(end) = value["endPort"].as_i64() else { return };
    let place = format!("{at}.endPort");
    match value["port"].as_i64() {
        Some(port) if end < port => {
            invalid(errors, place, &value["endPort"], "must be greater than or equal to `port`")
        }
        Some(_) => {}
        None if value["port"].is_null() => {
            errors.push(FieldError::required(format!("{at}.port"), "must be specified when `endPort` is set"))
        }
        None => invalid(errors, place, &value["endPort"], "may not be specified when `port` is non-numeric"),
    }
}
