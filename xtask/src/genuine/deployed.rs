//! An operator on a server of Kubernetes 1.37 that has nothing but the operator's generated manifests. Its Pods become ready but run
//! nothing, so the operator is started beside them, as its ServiceAccount.

use std::net::{IpAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Result, ensure};

use super::pages::{METRICS, Run, print_end};
use super::realapi::{self, Server};
use crate::command::Background;
use crate::context::{Context, scratch};
use crate::skip::skip;

const WEBHOOKS: u16 = 19_443;

/// An operator and its manifests.
pub(crate) struct Deployed<'a> {
    /// Of the operator, of all its objects, and of its namespace.
    pub(crate) name: &'a str,
    pub(crate) program: &'a Path,
    /// The folder with `install.yaml`, `base/` and `samples/`.
    pub(crate) manifests: &'a Path,
}

impl Deployed<'_> {
    /// Skips where no genuine server, kubectl or curl is.
    pub(crate) fn require(cx: &Context) -> Result<()> {
        realapi::program(cx)?;
        cx.require(&["kubectl", "curl"])
    }

    /// Applies the manifests, starts the operator, and ends it after the scenario.
    pub(crate) fn run(&self, cx: &Context, scenario: impl FnOnce(&Run<'_>) -> Result<()>) -> Result<()> {
        let work = scratch()?;
        let server = Server::with_node(cx, "v1.37")?;
        let run = Run { cx, server: &server, program: self.program, work: work.path() };
        self.apply(&run)?;
        let kubeconfig = self.kubeconfig(&run)?;
        let address = own_address()?;
        self.lead_service_to(&run, address)?;

        let log = work.path().join("log");
        let operator = cx.command(self.program).env("KUBECONFIG", &kubeconfig);
        let operator = operator.args(["--metrics", METRICS, "--webhooks", &format!("{address}:{WEBHOOKS}")]);
        let operator = operator.spawn(&log, &log)?;
        let result =
            self.probes(&run).and_then(|()| scenario(&run)).and_then(|()| self.end(&run, &operator, &log));
        if result.is_err() {
            print_end(&log)?;
        }
        result
    }

    /// The plain manifests and the kustomize base are accepted, and the Deployment rolls out.
    fn apply(&self, run: &Run<'_>) -> Result<()> {
        run.kubectl("apply --validate=strict -f").arg(self.manifests.join("install.yaml")).read()?;
        println!("ok: the server accepts the manifests");
        run.kubectl("apply --validate=strict -k").arg(self.manifests.join("base")).read()?;
        println!("ok: the server accepts the kustomize base");
        let deployment = format!("deployment/{}", self.name);
        let rollout =
            run.kubectl("rollout status --timeout=120s").args([&deployment, "--namespace", self.name]);
        rollout.limit(Duration::from_secs(150)).read()?;
        println!("ok: admission lets the Pods in, and the Deployment rolls out");
        Ok(())
    }

    /// The generated Service leads to Pods that run nothing: one of the same name and port leads to the operator.
    fn lead_service_to(&self, run: &Run<'_>, address: IpAddr) -> Result<()> {
        let name = self.name;
        run.kubectl("delete service --ignore-not-found").args([name, "--namespace", name]).read()?;
        let service = format!(
            "apiVersion: v1\nkind: Service\nmetadata: {{name: {name}, namespace: {name}}}\n\
             spec: {{ports: [{{name: webhook, port: 443, targetPort: {WEBHOOKS}}}]}}\n---\n\
             apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\n\
             metadata:\n  name: {name}-outside\n  namespace: {name}\n\
             \x20 labels: {{kubernetes.io/service-name: {name}}}\naddressType: IPv4\n\
             ports: [{{name: webhook, port: {WEBHOOKS}, protocol: TCP}}]\n\
             endpoints: [{{addresses: [{address}], conditions: {{ready: true}}}}]\n"
        );
        run.kubectl("apply --validate=strict -f -").stdin(service).read().map(drop)
    }

    /// A kubeconfig with the token of the generated ServiceAccount, as a pod would have it.
    fn kubeconfig(&self, run: &Run<'_>) -> Result<PathBuf> {
        let token = run.kubectl("create token").args([self.name, "--namespace", self.name]).read()?;
        let file = run.work.join("kubeconfig");
        std::fs::copy(&run.server.kubeconfig, &file)?;
        let config = |args: &str| run.kubectl(args).env("KUBECONFIG", &file);
        let cluster = config("config view -o jsonpath={.clusters[0].name}").read()?;
        config("config set-credentials operator --token").arg(token.trim()).read()?;
        let context = config("config set-context operator --user operator --namespace");
        context.args([self.name, "--cluster", cluster.trim()]).read()?;
        config("config use-context operator").read()?;
        Ok(file)
    }

    /// What the Deployment says about probes is true of the program.
    fn probes(&self, run: &Run<'_>) -> Result<()> {
        for probe in ["startupProbe", "livenessProbe", "readinessProbe"] {
            let path = format!("jsonpath={{.spec.template.spec.containers[0].{probe}.httpGet.path}}");
            let get = ["get", "deployment", self.name, "--namespace", self.name, "-o", &path];
            let path = run.with_server(run.cx.command("kubectl")).args(get).read()?;
            run.within(60, &format!("the {probe} succeeds at {path}"), "", || run.get(path.trim()))?;
        }
        Ok(())
    }

    fn end(&self, run: &Run<'_>, operator: &Background, log: &Path) -> Result<()> {
        run.end(operator, self.name, self.name)?;
        let log = std::fs::read_to_string(log)?;
        let refused =
            log.lines().find(|line| line.contains("lacks permissions") || line.contains("forbidden"));
        ensure!(refused.is_none(), "the generated roles are not enough: {}", refused.unwrap_or_default());
        println!("ok: the generated roles are enough");
        Ok(())
    }
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
