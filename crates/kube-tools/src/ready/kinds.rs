//! Rules for kinds that have a phase, an address or a condition of their own.

use serde_json::Value;

use super::readiness::{Readiness, failed, in_progress, ready};
use super::view::View;

pub(super) fn claim(object: View<'_>) -> Readiness {
    match object.text("/status/phase") {
        Some("Bound") => ready("the claim is bound"),
        Some("Lost") => failed("the volume of the claim is lost"),
        phase => in_progress(format!("the phase of the claim is {}", phase.unwrap_or("Pending"))),
    }
}

pub(super) fn volume(object: View<'_>) -> Readiness {
    match object.text("/status/phase").unwrap_or("Pending") {
        "Failed" => failed(object.text("/status/message").unwrap_or("the phase of the volume is Failed")),
        "Pending" => in_progress("the phase of the volume is Pending"),
        phase => ready(format!("the phase of the volume is {phase}")),
    }
}

pub(super) fn service(object: View<'_>) -> Readiness {
    if object.text("/spec/type") != Some("LoadBalancer") {
        return ready("the service needs no address of a load balancer");
    }
    if let Some(address) = object.items("/spec/externalIPs").iter().find_map(Value::as_str) {
        return ready(format!("the service has the external address {address}"));
    }
    let ingress = object.items("/status/loadBalancer/ingress");
    let address = ingress.iter().find_map(|it| it.get("ip").or(it.get("hostname"))?.as_str());
    match address.filter(|address| !address.is_empty()) {
        Some(address) => ready(format!("the load balancer has the address {address}")),
        None => in_progress("the load balancer has no address"),
    }
}

pub(super) fn namespace(object: View<'_>) -> Readiness {
    match object.text("/status/phase") {
        Some("Active") => ready("the namespace is active"),
        phase => in_progress(format!("the phase of the namespace is {}", phase.unwrap_or("not set"))),
    }
}

pub(super) fn definition(object: View<'_>) -> Readiness {
    if let Some(names) = object.condition("NamesAccepted").filter(|it| it.is("False")) {
        return failed(format!("its names are not accepted: {}", names.explanation()));
    }
    let condition = object.condition("Established");
    if condition.is_some_and(|it| it.is("True")) {
        let served =
            object.items("/spec/versions").iter().filter(|it| it.get("served") == Some(&Value::Bool(true)));
        return ready(format!("the definition is established, served versions: {}", served.count()));
    }
    let why = condition.map(|it| format!(": {}", it.explanation())).unwrap_or_default();
    in_progress(format!("the definition is not established{why}"))
}

pub(super) fn api_service(object: View<'_>) -> Readiness {
    match object.condition("Available") {
        Some(condition) if condition.is("True") => ready("the API is available"),
        Some(condition) => in_progress(condition.explanation()),
        None => in_progress("the availability of the API is not known"),
    }
}
