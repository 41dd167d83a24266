//! What is deployed: the program's own values as manifests, in `deploy/`.

use crate::{
    Addresses, NAME, manager,
    page::{v1, v2},
};
use kube::{
    CustomResourceExt,
    core::crd::merge_crds,
    operator::manifests::{Form, Manifests, offline_client},
};

/// The files that the subcommand `manifests` writes.
pub const FORMS: [Form; 3] = [Form::Yaml, Form::Kustomize, Form::Helm];

// ANCHOR: manifests
/// The manifests of the operator in this namespace. Makes its manager, but runs nothing and connects to nothing.
pub fn manifests(namespace: &str) -> anyhow::Result<Manifests> {
    let manager = manager(offline_client(namespace), Addresses::IN_CLUSTER);
    let welcome = v2::PageSpec {
        title: "Welcome".into(),
        paragraphs: vec!["The first paragraph.".into(), "The second one.".into()],
        replicas: 1,
    };
    Ok(Manifests::new(NAME, &manager)
        .image("registry.example.com/page-operator:1.0.0")
        .version("1.0.0")
        .crd(merge_crds(vec![v1::Page::crd(), v2::Page::crd()], "v2")?)
        .network_policy(["monitoring"])
        .sample(&v2::Page::new("welcome", welcome)))
}
// ANCHOR_END: manifests
