//! The job `kubectl-example`: `examples/kubectl` does what kubectl does, to objects of Kubernetes 1.37 and to pods of the embedded server.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use similar::TextDiff;

use super::normalize::normalize;
use super::pods::local_port;
use super::session;
use crate::command::{Command, Output, pause};
use crate::context::{Context, scratch};
use crate::genuine;
use crate::job::no_arguments;
use crate::paths;

pub(crate) fn example(cx: &Context, args: &[String]) -> Result<()> {
    no_arguments(args)?;
    let kubectl = genuine::kubectl(cx)?;
    let example = cx.build("--bin", "kubectl-example")?;
    let work = scratch()?;
    let server = genuine::Server::with_node(cx, "v1.37")?;
    let programs = |kubeconfig: &Path| Programs {
        example: program(cx, &example, kubeconfig, work.path()),
        kubectl: program(cx, &kubectl, kubeconfig, work.path()),
        compared: 0,
    };
    genuine::beside_kubectl(cx, &kubectl, &server)?;
    let mut genuine = programs(&server.kubeconfig);
    genuine.objects(cx, work.path()).context("on Kubernetes 1.37")?;

    let testserver = cx.build("--bin", "kube-testserver")?;
    let listen = ["--tls", "--listen", "8080=127.0.0.1:9"];
    let embedded = session::Server::start(cx, &testserver, work.path(), "pods", &listen)?;
    let mut embedded = programs(&embedded.kubeconfig);
    embedded.pods(work.path()).context("on the embedded server")?;
    println!("{} effects and outputs are those of kubectl", genuine.compared + embedded.compared);
    Ok(())
}

fn program(cx: &Context, program: &Path, kubeconfig: &Path, work: &Path) -> Command {
    let command = cx.command(program).dir(work).limit(Duration::from_secs(120));
    command.env("KUBECONFIG", kubeconfig).env("KUBECACHEDIR", work.join("cache"))
}

/// Both programs, with the same cluster.
struct Programs {
    example: Command,
    kubectl: Command,
    compared: usize,
}

/// For the controllers and nodes of the cluster to finish what they do after a change.
const CONTROLLERS: Duration = Duration::from_secs(30);

/// Each program has a namespace of its own, which it changes.
const NAMESPACES: [&str; 2] = ["by-example", "by-kubectl"];

impl Programs {
    fn objects(&mut self, cx: &Context, work: &Path) -> Result<()> {
        for object in ["crd", "gauge"] {
            let text = cx.read(format!("{}/objects/{object}.yaml", paths::COMMANDS))?;
            std::fs::write(work.join(format!("{object}.yaml")), text)?;
        }
        NAMESPACES.iter().try_for_each(|name| self.kubectl(&["create", "namespace", name]))?;
        self.kubectl(&["apply", "-f", "crd.yaml"])?;
        self.kubectl(&["wait", "--for=condition=Established", "crd/gauges.compare.example.com"])?;

        write_directory(work, 2, "blue")?;
        self.changes(&["apply", "-f", "shop"], &["apply", "--server-side", "-f", "shop"])?;
        self.both(&["rollout", "status", "deployment/web"])?;
        self.changes(&["wait", "--for=condition=Available", "deployment/web"], &[])?;
        self.both(&["wait", "--for=jsonpath={.status.readyReplicas}=2", "deployment/web"])?;
        self.both(&["rollout", "restart", "deployment/web"])?;
        self.both(&["rollout", "status", "deployment/web"])?;
        self.changes(&["wait", "--for=jsonpath={.status.readyReplicas}=2", "deployment/web"], &[])?;
        write_directory(work, 1, "green")?;
        self.changes(&["apply", "-f", "shop"], &["apply", "--server-side", "-f", "shop"])?;
        self.both(&["rollout", "status", "deployment/web"])?;

        self.kubectl(&["-n", NAMESPACES[1], "apply", "-f", "gauge.yaml"])?;
        for args in [
            "get deployments",
            "get deployments,services,configmaps",
            "get pods -o wide",
            "get pods -l app=web --show-labels",
            "get service/web configmap/settings -o name",
            "get gauges",
            "get gauges -o wide",
            "get gauge w -A",
            "get nodes",
            "get jobs",
            "get deployment/none",
            "get nonsense",
            "wait --for=condition=Nonsense deployment/web --timeout=1s",
            "wait --for=delete deployment/web --timeout=1s",
            "describe gauges",
        ] {
            self.prints_the_same(args, |text| text)?;
        }
        let events = |text: &str| text.split_once("Events:").map(|(_, events)| events.to_owned());
        self.prints_the_same("describe deployment/web", |text| events(&text).unwrap_or_default())?;

        self.changes(&["delete", "deployment/web"], &["delete", "deployment/web"])?;
        self.both(&["wait", "--for=delete", "deployment/web"])?;
        self.changes(&["delete", "-f", "shop"], &["delete", "--ignore-not-found", "-f", "shop"])
    }

    /// Runs each program in its namespace, without arguments for kubectl the same ones, and compares what the namespaces hold then.
    fn changes(&mut self, example: &[&str], kubectl: &[&str]) -> Result<()> {
        let kubectl = if kubectl.is_empty() { example } else { kubectl };
        succeed(self.example.clone().args(["-n", NAMESPACES[0]]).args(example))?;
        succeed(self.kubectl.clone().args(["-n", NAMESPACES[1]]).args(kubectl))?;
        let states = |programs: &Self| {
            let [ours, theirs] = NAMESPACES.map(|namespace| programs.state(namespace));
            Ok((ours?, theirs?))
        };
        self.equal_soon(&example.join(" "), states)
    }

    fn both(&mut self, args: &[&str]) -> Result<()> {
        succeed(self.example.clone().args(["-n", NAMESPACES[0]]).args(args))?;
        succeed(self.kubectl.clone().args(["-n", NAMESPACES[1]]).args(args))
    }

    /// The objects of a namespace, with the managers of their fields.
    fn state(&self, namespace: &str) -> Result<String> {
        let kinds = "deployments,services,configmaps";
        let list = ["-n", namespace, "get", kinds, "-o", "json", "--show-managed-fields"];
        let mut list: Value = serde_json::from_str(&self.kubectl.clone().args(list).read()?)?;
        for object in list["items"].as_array_mut().into_iter().flatten() {
            if let Some(entries) = object["metadata"]["managedFields"].as_array_mut() {
                // What is no apply has the name of the program as its manager.
                entries.retain(|entry| {
                    !["kube-client", "kubectl-rollout"].iter().any(|name| entry["manager"] == *name)
                });
                for entry in entries {
                    *entry = ["manager", "operation", "subresource"]
                        .map(|key| entry[key].clone())
                        .into_iter()
                        .collect();
                }
            }
            // Of the pods before a restart.
            object["status"].as_object_mut().map(|status| status.remove("terminatingReplicas"));
            let conditions = object["status"]["conditions"].as_array_mut().into_iter().flatten();
            conditions.for_each(|condition| {
                *condition = Value::from_iter([condition["type"].take(), condition["status"].take()])
            });
        }
        Ok(normalize(&format!("{list:#}"), namespace))
    }

    /// Runs both programs in the namespace of kubectl. Messages of errors are the programs' own.
    fn prints_the_same(&mut self, args: &str, part: impl Fn(String) -> String) -> Result<()> {
        let run = |program: &Command| -> Result<String> {
            let args = ["-n", NAMESPACES[1]].into_iter().chain(args.split(' '));
            let Output { bytes, code } = program.clone().args(args).output()?;
            let text = normalize(&String::from_utf8_lossy(&bytes), NAMESPACES[1]);
            let text = if code == 0 { part(text) } else { String::new() };
            Ok(format!("exit code {code}\n{text}"))
        };
        self.equal_soon(args, |programs| Ok((run(&programs.example)?, run(&programs.kubectl)?)))
    }

    /// Compares what both programs print or have changed. Between two commands the controllers and nodes of the cluster go on, for example
    /// remove the pods of an earlier revision, so what differs is looked at again until their time is over.
    fn equal_soon(&mut self, what: &str, texts: impl Fn(&Self) -> Result<(String, String)>) -> Result<()> {
        let until = Instant::now() + CONTROLLERS;
        loop {
            let (ours, theirs) = texts(self)?;
            if ours == theirs || Instant::now() > until {
                return self.equal(what, &ours, &theirs);
            }
            pause(Duration::from_millis(200))?;
        }
    }

    fn equal(&mut self, what: &str, ours: &str, theirs: &str) -> Result<()> {
        self.compared += 1;
        let diff = TextDiff::from_lines(theirs, ours);
        let diff = diff.unified_diff().header("kubectl", "kubectl-example").to_string();
        ensure!(diff.is_empty(), "{what}:\n{diff}");
        Ok(())
    }

    fn pods(&mut self, work: &Path) -> Result<()> {
        self.kubectl(&["run", "web", "--image=i"])?;
        self.kubectl(&["wait", "--for=condition=Ready", "pod/web"])?;
        std::fs::create_dir_all(work.join("tree/deep"))?;
        std::fs::write(work.join("tree/a"), "one\n")?;
        std::fs::write(work.join("tree/deep/b"), "two\n")?;
        for args in [
            &["exec", "web", "--", "echo", "hi there"][..],
            &["exec", "web", "--", "sh", "-c", "echo out; echo err >&2; exit 7"],
            &["exec", "-i", "web", "--", "cat"],
            &["exec", "none", "--", "true"],
            &["logs", "web"],
            &["logs", "web", "--tail", "1"],
            &["logs", "-l", "run=web", "--prefix"],
            &["logs", "none"],
        ] {
            let run = |program: &Command| program.clone().args(args).stdin("through").output();
            let (ours, theirs) = (run(&self.example)?, run(&self.kubectl)?);
            let shown = args.join(" ");
            ensure!(ours.code == theirs.code, "{shown}: exit code {}, of kubectl {}", ours.code, theirs.code);
            // Messages of errors are the programs' own.
            let [ours, theirs] =
                [ours, theirs].map(|output| if output.code == 1 { String::new() } else { output.text() });
            self.equal(&shown, &ours, &theirs)?;
        }
        // What one copies in, the other one copies out.
        for (at, (to, from)) in
            [(&self.example, &self.kubectl), (&self.kubectl, &self.example)].into_iter().enumerate()
        {
            succeed(to.clone().args(["cp", "tree", &format!("web:/tmp/tree-{at}")]))?;
            succeed(from.clone().args(["cp", &format!("web:/tmp/tree-{at}"), &format!("copy-{at}")]))?;
            for file in ["a", "deep/b"] {
                let copied = std::fs::read(work.join(format!("copy-{at}")).join(file))?;
                ensure!(copied == std::fs::read(work.join("tree").join(file))?, "cp changed {file}");
            }
        }
        self.compared += 4;
        let output = work.join("forwarded");
        let _forward =
            self.example.clone().args(["port-forward", "pod/web", ":8080"]).spawn(&output, &output)?;
        local_port(&output).map(drop)
    }

    fn kubectl(&self, args: &[&str]) -> Result<()> {
        succeed(self.kubectl.clone().args(args))
    }
}

fn succeed(command: Command) -> Result<()> {
    let shown = command.to_string();
    let output = command.output()?;
    ensure!(output.code == 0, "{shown}: exit code {}: {}", output.code, output.text());
    Ok(())
}

/// What both programs apply.
fn write_directory(work: &Path, replicas: u32, color: &str) -> Result<PathBuf> {
    let folder = work.join("shop");
    std::fs::create_dir_all(&folder)?;
    let files = [
        (
            "settings.yaml",
            format!(
                "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: settings}}, data: {{color: {color}}}}}"
            ),
        ),
        (
            "web.yaml",
            format!(
                "apiVersion: apps/v1
kind: Deployment
metadata: {{name: web, labels: {{color: {color}}}}}
spec:
  replicas: {replicas}
  selector: {{matchLabels: {{app: web}}}}
  template:
    metadata: {{labels: {{app: web}}}}
    spec: {{containers: [{{name: main, image: nginx, ports: [{{containerPort: 80}}]}}]}}
---
apiVersion: v1
kind: Service
metadata: {{name: web}}
spec: {{selector: {{app: web}}, ports: [{{port: 80}}]}}
"
            ),
        ),
    ];
    for (name, text) in files {
        std::fs::write(folder.join(name), text)?;
    }
    Ok(folder)
}
