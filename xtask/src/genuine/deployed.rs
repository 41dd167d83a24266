//! A part of the job `operator-genuine`: the generated manifests of `examples/operator` are all that a server of Kubernetes 1.37 has. Its
//! Pods become ready but run nothing, so the operator is started beside them, as its ServiceAccount.

use std::net::{IpAddr, UdpSocket};
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};

use super::pages::{METRICS, Run, print_end};
use super::realapi::Server;
use crate::command::Background;
use crate::context::{Context, scratch};
use crate::paths;
use crate::skip::skip;

const NAMESPACE: &str = "page-operator";
const WEBHOOKS: u16 = 19_443;

pub(super) fn deployed(cx: &Context, program: &Path) -> Result<()> {
    let work = scratch()?;
    let server = Server::with_node(cx, "v1.37")?;
    let run = Run { cx, server: &server, program, work: work.path() };
    apply(&run)?;
    let kubeconfig = kubeconfig(&run)?;

    let address = own_address()?;
    lead_service_to(&run, address)?;

    let log = work.path().join("log");
    let operator = cx.command(program).env("KUBECONFIG", &kubeconfig);
    let operator = operator.args(["--metrics", METRICS, "--webhooks", &format!("{address}:{WEBHOOKS}")]);
    let operator = operator.spawn(&log, &log)?;
    let result = scenario(&run, &operator, &log);
    if result.is_err() {
        print_end(&log)?;
    }
    result
}

/// Where the API server, which runs on this machine, can call the operator: endpoints of Services may not be loopback addresses.
fn own_address() -> Result<IpAddr> {
    let socket = UdpSocket::bind("0.0.0.0:0")?;
    // Connecting sends nothing: it only looks up the route.
    match socket.connect("192.0.2.1:9").and_then(|()| socket.local_addr()) {
        Ok(address) if !address.ip().is_loopback() => Ok(address.ip()),
        _ => skip("this machine has no address but loopback, which endpoints of Services may not have"),
    }
}

/// The generated Service leads to Pods that run nothing: one of the same name and port leads to the operator.
fn lead_service_to(run: &Run<'_>, address: IpAddr) -> Result<()> {
    run.kubectl("delete service page-operator --namespace").arg(NAMESPACE).read()?;
    let service = format!(
        "apiVersion: v1\nkind: Service\nmetadata: {{name: page-operator, namespace: {NAMESPACE}}}\n\
         spec: {{ports: [{{name: webhook, port: 443, targetPort: {WEBHOOKS}}}]}}\n---\n\
         apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\n\
         metadata:\n  name: page-operator-outside\n  namespace: {NAMESPACE}\n\
         \x20 labels: {{kubernetes.io/service-name: page-operator}}\naddressType: IPv4\n\
         ports: [{{name: webhook, port: {WEBHOOKS}, protocol: TCP}}]\n\
         endpoints: [{{addresses: [{address}], conditions: {{ready: true}}}}]\n"
    );
    run.kubectl("apply --validate=strict -f -").stdin(service).read().map(drop)
}

/// The plain manifests and the kustomize base are accepted, and the Deployment rolls out.
fn apply(run: &Run<'_>) -> Result<()> {
    let folder = run.cx.path(paths::MANIFESTS);
    run.kubectl("apply --validate=strict -f").arg(folder.join("install.yaml")).read()?;
    println!("ok: the server accepts the manifests");
    run.kubectl("apply --validate=strict -k").arg(folder.join("base")).read()?;
    println!("ok: the server accepts the kustomize base");
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
