//! Mistakes in `apply!`.

use k8s_openapi::api::core::v1::{Container, Pod, PodSpec, Service};
use kube_derive::apply;

fn main() {
    let name = "web";
    let labels = std::collections::BTreeMap::from([("a".to_owned(), "b".to_owned())]);

    // Names and types.
    let _ = apply!(#[kube(crates(kube_core = ::kube_core))] PodSpec { host_nam: name });
    let _ = apply!(#[kube(crates(kube_core = ::kube_core))] Pod { spec: { containers: [{ imag: name }] } });
    let _ = apply!(#[kube(crates(kube_core = ::kube_core))] Pod { spec: { security_context: { seccomp_profile: { typ: name } } } });
    let _ = apply!(#[kube(crates(kube_core = ::kube_core))] Pod { spec: { containers: [{ resources: { limits: { "cpu": 5.0 } } }] } });
    let _ = apply!(#[kube(crates(kube_core = ::kube_core))] PodSpec { priority: "high" });
    let _ = apply!(#[kube(crates(kube_core = ::kube_core))] Container { name: 5 });
    let _ = apply!(#[kube(crates(kube_core = ::kube_core))] Container { args: ["a", 5] });
    let _ = apply!(#[kube(crates(kube_core = ::kube_core))] PodSpec { node_selector: { "a": 5 } });
    let _ = apply!(#[kube(crates(kube_core = ::kube_core))] Container { name: ["a"] });
    let _ = apply!(#[kube(crates(kube_core = ::kube_core))] Container { resources: { "cpu": "1" } });
    let _ = apply!(#[kube(crates(kube_core = ::kube_core))] Container { image: { name: "x" } });
    let _ = apply!(#[kube(crates(kube_core = ::kube_core))] PodSpec { ..labels });
    let _ = apply!(#[kube(crates(kube_core = ::kube_core))] NoDefault { x: 1 });

    let _ = apply!(#[kube(crates(kube_core = ::kube_core))] Service { spec: name });
}

#[derive(serde::Serialize)]
struct NoDefault {
    x: i32,
}
