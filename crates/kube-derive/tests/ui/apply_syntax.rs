//! Mistakes in the grammar of `apply!`. All of one call are reported together.

use k8s_openapi::api::core::v1::PodSpec;
use kube_derive::apply;

fn main() {
    let name = "web";
    let _ = apply!(#[kube(crates(kube_core = ::kube_core))] PodSpec {
        "hostname": name,
        node_selector: { "a": "b", app: name },
        hostname name,
        subdomain:,
        host_pid: true host_ipc: true,
        containers: [{ name: name. }],
        node_name: "a",
        + : 3,
        if name { } else 5,
    });
    // Control flow in a wrong place, or with braces of another meaning.
    let _ = apply!(#[kube(crates(kube_core = ::kube_core))] PodSpec {
        containers: for name in names { name },
        init_containers: [for name in names { { name }, { name } }],
        node_selector: if true { "a": "b" },
        tolerations: [if true { "a", "b" }],
        affinity: match name { "web" => { node_affinity: x } },
    });
    let _ = apply!(#[kube(crates(kube_core = ::kube_core))] Pod);
    let _ = apply!();
    let _ = apply!(#[kube(crates(kube_cor = ::kube_core))] Container {});
    let _ = apply!(#[serde(x)] Container {});
}
