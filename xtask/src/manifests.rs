//! Jobs about generated manifests: kustomize and Helm make the plain ones of theirs.

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use crate::context::{Context, scratch};
use crate::job::no_arguments;
use crate::{paths, tools};

/// `kubectl kustomize` of the base gives the objects of the plain manifests, and an overlay changes them.
pub(crate) fn kustomize(cx: &Context, args: &[String]) -> Result<()> {
    no_arguments(args)?;
    cx.require(&["kubectl"])?;
    let base = cx.path(paths::MANIFESTS).join("base");
    let built = objects(&cx.command("kubectl").arg("kustomize").arg(&base).read()?)?;
    same(&built, &plain(cx)?, "kubectl kustomize")?;

    let work = scratch()?;
    let overlay = work.path().join("overlay");
    std::fs::create_dir(&overlay)?;
    cx.command("cp").arg("-r").arg(&base).arg(work.path().join("base")).run()?;
    std::fs::write(
        overlay.join("kustomization.yaml"),
        "resources: [../base]\nimages: [{name: registry.example.com/page-operator, newTag: 2.0.0}]\n\
         replicas: [{name: page-operator, count: 3}]\n",
    )?;
    let built = objects(&cx.command("kubectl").arg("kustomize").arg(&overlay).read()?)?;
    let spec = &find(&built, "Deployment")?["spec"];
    let image = &spec["template"]["spec"]["containers"][0]["image"];
    ensure!(
        spec["replicas"] == 3 && image == "registry.example.com/page-operator:2.0.0",
        "the overlay has no effect: {spec}"
    );
    println!("the base builds to the {} plain objects, and an overlay changes them", plain(cx)?.len());
    Ok(())
}

/// `helm lint` has no complaint, `helm template` gives the plain objects, and values change them.
pub(crate) fn helm(cx: &Context, args: &[String]) -> Result<()> {
    no_arguments(args)?;
    let helm = tools::helm(cx)?;
    let chart = cx.path(paths::MANIFESTS).join("chart");
    cx.command(&helm).args(["lint", "--strict"]).arg(&chart).run()?;
    let render = |args: &[&str]| {
        let command = cx.command(&helm).args(["template", "page-operator"]).arg(&chart);
        objects(&command.args(args).read()?)
    };
    let mut expected = plain(cx)?;
    // What an installation by Helm differs in: it makes the namespace, keeps CRDs, and has a policy for pulling images.
    expected.retain(|object| object["kind"] != "Namespace");
    for object in &mut expected {
        match object["kind"].as_str() {
            Some("CustomResourceDefinition") => {
                object["metadata"]["annotations"]["helm.sh/resource-policy"] = json!("keep");
            }
            Some("Deployment") => {
                object["spec"]["template"]["spec"]["containers"][0]["imagePullPolicy"] =
                    json!("IfNotPresent");
            }
            _ => {}
        }
    }
    same(&render(&["--namespace", "page-operator"])?, &expected, "helm template")?;

    let changed = render(&[
        "--namespace=pages",
        "--set=image.repository=mirror/operator,image.digest=sha256:00,replicas=5,resources.limits.memory=1Gi",
        "--set=crds.enabled=false,networkPolicy.enabled=false",
    ])?;
    ensure!(find(&changed, "CustomResourceDefinition").is_err() && find(&changed, "NetworkPolicy").is_err());
    let deployment = find(&changed, "Deployment")?;
    let container = &deployment["spec"]["template"]["spec"]["containers"][0];
    ensure!(
        deployment["spec"]["replicas"] == 5
            && deployment["metadata"]["namespace"] == "pages"
            && container["image"] == "mirror/operator@sha256:00"
            && container["resources"]["limits"]["memory"] == "1Gi",
        "the values have no effect: {deployment}"
    );
    ensure!(
        find(&changed, "ValidatingWebhookConfiguration")?["webhooks"][0]["clientConfig"]["service"]["namespace"]
            == "pages"
            && find(&changed, "RoleBinding")?["subjects"][0]["namespace"] == "pages",
        "the namespace of the release is not everywhere"
    );
    println!("the chart renders the {} plain objects, and values change them", expected.len());
    Ok(())
}

fn plain(cx: &Context) -> Result<Vec<Value>> {
    objects(&cx.read(cx.path(paths::MANIFESTS).join("install.yaml"))?)
}

fn objects(text: &str) -> Result<Vec<Value>> {
    let documents: Vec<Value> = serde_saphyr::from_multiple(text)?;
    Ok(documents.into_iter().filter(|document| !document.is_null()).collect())
}

fn find<'a>(objects: &'a [Value], kind: &str) -> Result<&'a Value> {
    objects.iter().find(|object| object["kind"] == *kind).with_context(|| format!("no {kind}"))
}

/// The same objects in any order.
fn same(found: &[Value], expected: &[Value], what: &str) -> Result<()> {
    for object in expected {
        let name = &object["metadata"]["name"];
        ensure!(found.contains(object), "{what} does not give the {} {name} of install.yaml", object["kind"]);
    }
    ensure!(found.len() == expected.len(), "{what} gives {} objects, not {}", found.len(), expected.len());
    Ok(())
}
