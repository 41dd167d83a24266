//! A new project, and the same with everything added.

use std::path::Path;

use anyhow::{Result, ensure};

use super::project::{Project, Scaffold};
use crate::context::Context;
use crate::genuine::Deployed;

const NAME: &str = "page-operator";

pub(super) fn whole_life(scaffold: &Scaffold<'_>) -> Result<Project> {
    println!("--- a new project");
    let root = scaffold.cx.root.display();
    let options = "--kind Page --group pages.example.org --version v1alpha1 --namespaced";
    let project = scaffold.create(NAME, &format!("{options} --path {root}"))?;
    scaffold.ci(&project)?;
    scaffold.embedded(&project, &["page-sample"])?;

    println!("--- everything added");
    let kube = |args: &str| scaffold.kube(&project.folder, args);
    kube("add kind Author --cluster --version v1beta1").run()?;
    kube("add webhook Page --validate --mutate").run()?;
    kube("add webhook Author").run()?;
    kube("add version Page v2").run()?;
    kube("add version Page v3").run()?;
    scaffold.ci(&project)?;
    scaffold.embedded(&project, &["page-sample", "author-sample"])?;
    let install = std::fs::read_to_string(project.deploy().join("install.yaml"))?;
    for expected in ["strategy: Webhook", "path: /convert", "name: mutate.", "name: validate."] {
        ensure!(install.contains(expected), "deploy/install.yaml lacks {expected:?}");
    }
    let upgrade = kube("upgrade").output()?;
    let text = upgrade.text();
    ensure!(upgrade.code == 0 && text.starts_with("up to date"), "{text}");
    Ok(project)
}

/// A project whose only kind is in no namespace, with the default of every other option.
pub(super) fn cluster_scoped(scaffold: &Scaffold<'_>) -> Result<()> {
    println!("--- a new project with a cluster-scoped kind");
    let project =
        scaffold.create("tenant-operator", &format!("--cluster --path {}", scaffold.cx.root.display()))?;
    scaffold.ci(&project)?;
    scaffold.embedded(&project, &["tenant-sample"])
}

/// On a genuine server, which calls the webhooks.
pub(super) fn deployed(cx: &Context, project: &Project) -> Result<()> {
    println!("--- everything added, on a genuine server");
    let manifests = project.deploy();
    let deployed = Deployed { name: NAME, program: &project.program, manifests: &manifests };
    deployed.run(cx, |run| {
        let samples: &Path = &manifests.join("samples");
        run.within(60, "the samples are accepted, by the webhooks", "", || run.kubectl("apply -f").arg(samples))?;
        for object in ["page/page-sample", "author/author-sample"] {
            run.within(30, &format!("{object} is ready"), "condition met", || {
                run.kubectl("wait --for=condition=Ready --timeout=1s").arg(object)
            })?;
        }
        run.within(10, "the mutating webhook has set its label", NAME, || {
            let label = "jsonpath={.metadata.labels.app\\.kubernetes\\.io/part-of}";
            run.kubectl("get page page-sample -o").arg(label)
        })?;
        run.within(10, "the server converts to the first version", "Hello", || {
            run.kubectl("get pages.v1alpha1.pages.example.org page-sample -o jsonpath={.spec.message}")
        })?;
        let long = format!(
            "apiVersion: pages.example.org/v1alpha1\nkind: Page\nmetadata: {{name: {}}}\nspec: {{message: Hello}}\n",
            "x".repeat(64)
        );
        let refused = run.kubectl("apply -f -").stdin(long).output()?;
        let text = refused.text();
        ensure!(refused.code != 0 && text.contains("must have at most 63 characters"), "{text}");
        println!("ok: the validating webhook refuses a long name");
        Ok(())
    })
}
