//! A project of a shell script: a `cargo` that copies the script in place of compiling it, and counts nothing else.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::json;
use tempfile::TempDir;

/// What the program writes for `manifests`, without the header.
pub(crate) const INSTALL: &str = r#"{apiVersion: v1, kind: Namespace, metadata: {name: tools}}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: op, namespace: tools}}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: op}, rules: [
  {apiGroups: [""], resources: [configmaps], verbs: [list, watch]}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: op},
  roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: op},
  subjects: [{kind: ServiceAccount, name: op, namespace: tools}]}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: op, namespace: tools}, spec: {selector: {matchLabels: {a: b}}, template: {
  metadata: {labels: {a: b}}, spec: {serviceAccountName: op, containers: [
    {name: operator, image: op, args: [run], env: [{name: MODE, value: quick}], ports: [{name: http, containerPort: 8080}]}]}}}}
"#;

const HEADER: &str = "# Generated from the code of op: do not edit.\n";

const NEEDS: &str = r#"[{"part": "the controller maps", "roles": [{"kind": "ClusterRole", "metadata": {"name": "op"},
  "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list", "watch"]}]}]}]"#;

/// The program: its subcommand, and an operator that says when it starts and stops.
const PROGRAM: &str = r#"#!/bin/sh
home=HOME_FOLDER
if [ "$1" = manifests ]; then
  echo "$*" >> "$home/calls"
  [ "$2" = --needs ] && exec cat "$home/needs.json"
  for folder; do :; done
  mkdir -p "$folder/samples" "$folder/base"
  printf 'apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [op.yaml]\n' > "$folder/base/kustomization.yaml"
  cp "$home/install.yaml" "$folder/install.yaml"
  cp "$home/sample.yaml" "$folder/samples/v1-configmap-sample.yaml"
  exit 0
fi
trap 'echo "stop VERSION" >> "$home/log"; exit 0' TERM
echo "start VERSION $* $MODE $KUBECONFIG" >> "$home/log"
while :; do sleep 0.02; done
"#;

/// Cargo's part: `metadata` is Cargo's own.
const CARGO: &str = r#"#!/bin/sh
home=HOME_FOLDER
case $1 in
metadata) exec REAL_CARGO "$@" --offline ;;
build)
  if [ -e "$home/broken" ]; then echo "error: it is broken" >&2; exit 101; fi
  mkdir -p "$home/project/target"
  fresh=true
  if ! cmp -s "$home/program" "$home/project/target/op"; then
    fresh=false
    cp "$home/program" "$home/project/target/new" && mv "$home/project/target/new" "$home/project/target/op"
  fi
  sed "s/FRESH/$fresh/" "$home/artifact.json" ;;
esac
"#;

/// A project in a folder that is removed with it.
pub(crate) struct Project {
    home: TempDir,
}

impl Project {
    pub(crate) fn new() -> Self {
        let home = tempfile::tempdir().expect("a directory");
        let project = Self { home };
        fs::create_dir_all(project.path("project/src")).expect("a directory");
        project.write(
            "project/Cargo.toml",
            "[package]\nname = \"op\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
        );
        project.write("project/src/main.rs", "fn main() {}\n");
        project.write("install.yaml", &format!("{HEADER}{INSTALL}"));
        project.write(
            "sample.yaml",
            &format!("{HEADER}apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: sample}}\n"),
        );
        project.write("needs.json", NEEDS);
        let target = json!({
            "kind": ["bin"], "crate_types": ["bin"], "name": "op", "src_path": project.path("project/src/main.rs"),
            "edition": "2021", "doc": true, "doctest": false, "test": true,
        });
        let profile = json!({ "opt_level": "0", "debuginfo": 2, "debug_assertions": true, "overflow_checks": true, "test": false });
        let artifact = json!({
            "reason": "compiler-artifact", "package_id": "op", "manifest_path": project.path("project/Cargo.toml"),
            "target": target, "profile": profile, "features": [], "filenames": [project.path("project/target/op")],
            "executable": project.path("project/target/op"), "fresh": "FRESH",
        });
        project.write("artifact.json", &format!("{}\n", artifact.to_string().replace("\"FRESH\"", "FRESH")));
        let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
        project.executable("cargo", &CARGO.replace("REAL_CARGO", &cargo));
        project.program("one");
        project
    }

    /// Below the folder of all, resolved as programs see it.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.home.path().canonicalize().expect("a directory").join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).expect("a file");
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// A new version of the program, which the next build finds.
    pub(crate) fn program(&self, version: &str) {
        self.executable("program", &PROGRAM.replace("VERSION", version));
    }

    /// Another program.
    pub(crate) fn executable(&self, name: &str, text: &str) {
        let home = self.path("").display().to_string();
        let next = format!("{name}.next");
        self.write(&next, &text.replace("HOME_FOLDER", home.trim_end_matches('/')));
        fs::set_permissions(self.path(&next), fs::Permissions::from_mode(0o755)).expect("permissions");
        fs::rename(self.path(&next), self.path(name)).expect("a file");
    }

    /// `cargo kube`, in the folder of the package.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-kube"));
        command
            .arg("kube")
            .args(arguments)
            .current_dir(self.path("project"))
            .env("CARGO", self.path("cargo"))
            .env_remove("CARGO_TARGET_DIR");
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("the program runs")
    }
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
