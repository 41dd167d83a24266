//! Mistakes in the control flow of `apply!`: what arms, conditions and loops have.

use k8s_openapi::api::core::v1::{Container, PodSpec};
use kube_derive::apply;

enum Mode {
    Debug,
    Quiet,
}

fn main() {
    let mode = Mode::Debug;
    let (name, count) = ("web", 3);

    // The values of arms.
    let _ = apply!(#[kube(crates(kube_core = ::kube_core))] Container { args: [match mode { Mode::Debug => "-v", Mode::Quiet => 5 }] });
    let _ = apply!(#[kube(crates(kube_core = ::kube_core))] Container { args: [match mode { Mode::Debug => { "-v" } Mode::Quiet => { 5 } }] });
    let _ = apply!(#[kube(crates(kube_core = ::kube_core))] Container { tty: match mode { Mode::Debug => true, Mode::Quiet => "no" } });
    // Fields and entries in arms.
    let _ = apply!(#[kube(crates(kube_core = ::kube_core))] PodSpec { match mode { Mode::Debug => { hostnam: name } Mode::Quiet => {} } });
    let _ = apply!(#[kube(crates(kube_core = ::kube_core))] PodSpec { match mode { Mode::Debug => { hostname: count } Mode::Quiet => {} } });
    let _ = apply!(#[kube(crates(kube_core = ::kube_core))] PodSpec { node_selector: { match mode { Mode::Debug => { "a": count } Mode::Quiet => { "a": name } } } });
    let _ = apply!(#[kube(crates(kube_core = ::kube_core))] PodSpec { containers: [match mode { Mode::Debug => { imag: name } Mode::Quiet => { name } }] });
    // Patterns.
    let _ = apply!(#[kube(crates(kube_core = ::kube_core))] PodSpec { match mode { Some(_) => { hostname: name } _ => {} } });
    let _ = apply!(#[kube(crates(kube_core = ::kube_core))] PodSpec { match mode { Mode::Loud => { hostname: name } _ => {} } });
    // Conditions and loops.
    let _ = apply!(#[kube(crates(kube_core = ::kube_core))] PodSpec { if name { hostname: name } });
    let _ = apply!(#[kube(crates(kube_core = ::kube_core))] PodSpec { containers: [for name in count { name }] });
}
