//! A part of the job `operator-genuine`: the generated manifests of `examples/operator` are all that a server of Kubernetes 1.37 has. Its
//! Pods become ready but run nothing, so the operator is started beside them, as its ServiceAccount.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};

use super::pages::{METRICS, Run, print_end};
use super::realapi::Server;
use crate::command::Background;
use crate::context::{Context, scratch};
use crate::paths;

const NAMESPACE: &str = "page-operator";

pub(super) fn deployed(cx: &Context, program: &Path) -> Result<()> {
    let work = scratch()?;
    let server = Server::with_node(cx, "v1.37")?;
    let run = Run { cx, server: &server, program, work: work.path() };
    apply(&run)?;
    let kubeconfig = kubeconfig(&run)?;

    // The Service leads to Pods that run nothing.
    let kubectl = |args: &str| run.kubectl(args).args(["--namespace", NAMESPACE]);
    kubectl("delete service page-operator").read()?;
    kubectl("create service externalname page-operator --external-name localhost --tcp 443").read()?;

    let log = work.path().join("log");
    let operator = cx.command(program).env("KUBECONFIG", &kubeconfig);
    let operator = operator.args(["--metrics", METRICS, "--webhooks", "127.0.0.1:443"]).spawn(&log, &log)?;
    let result = scenario(&run, &operator, &log);
    if result.is_err() {
        print_end(&log)?;
    }
    result
}

/// The plain manifests roll out, and the kustomize base has nothing to add.
fn apply(run: &Run<'_>) -> Result<()> {
    let folder = run.cx.path(paths::MANIFESTS);
    run.kubectl("apply --validate=strict -f").arg(folder.join("install.yaml")).read()?;
    println!("ok: the server accepts the manifests");
    let again = run.kubectl("apply --validate=strict -k").arg(folder.join("base")).read()?;
    let changed: Vec<_> = again.lines().filter(|line| !line.ends_with(" unchanged")).collect();
    ensure!(changed.is_empty(), "the base differs from install.yaml: {}", changed.join(", "));
    println!("ok: the kustomize base is the same");
    let rollout = "rollout status deployment/page-operator --timeout=120s --namespace";
    run.kubectl(rollout).arg(NAMESPACE).limit(std::time::Duration::from_secs(150)).read()?;
    println!("ok: admission lets the Pods in, and the Deployment rolls out");
    Ok(())
}

/// A kubeconfig with the token of the generated ServiceAccount, as a pod would have it.
fn kubeconfig(run: &Run<'_>) -> Result<PathBuf> {
    let token = run.kubectl("create token page-operator --namespace").arg(NAMESPACE).read()?;
    let file = run.work.join("kubeconfig");
    std::fs::copy(&run.server.kubeconfig, &file)?;
    let config = |args: &str| run.kubectl(args).env("KUBECONFIG", &file);
    let cluster = config("config view -o jsonpath={.clusters[0].name}").read()?;
    config("config set-credentials operator --token").arg(token.trim()).read()?;
    let context = "config set-context operator --user operator --namespace page-operator --cluster";
    config(context).arg(cluster.trim()).read()?;
    config("config use-context operator").read()?;
    Ok(file)
}

fn scenario(run: &Run<'_>, operator: &Background, log: &Path) -> Result<()> {
    for probe in ["startupProbe", "livenessProbe", "readinessProbe"] {
        let path = format!("jsonpath={{.spec.template.spec.containers[0].{probe}.httpGet.path}}");
        let get = ["get", "deployment", "page-operator", "--namespace", NAMESPACE, "-o", &path];
        let path = run.with_server(run.cx.command("kubectl")).args(get).read()?;
        run.within(60, &format!("the {probe} succeeds at {path}"), "", || run.get(path.trim()))?;
    }
    run.pages()?;
    let samples = run.cx.path(paths::MANIFESTS).join("samples");
    run.within(10, "the sample is accepted", "", || run.kubectl("apply -f").arg(&samples))?;
    run.within(30, "the sample is ready", "True", || {
        run.kubectl("get page welcome -o").arg("jsonpath={.status.conditions[?(@.type==\"Ready\")].status}")
    })?;
    run.within(30, "the sample is deleted", "", || run.kubectl("delete page welcome --timeout=20s"))?;
    run.end(operator, NAMESPACE)?;
    let log = std::fs::read_to_string(log)?;
    let refused = log.lines().find(|line| line.contains("lacks permissions") || line.contains("forbidden"));
    ensure!(refused.is_none(), "the generated roles are not enough: {}", refused.unwrap_or_default());
    println!("ok: the generated roles are enough");
    Ok(())
}
