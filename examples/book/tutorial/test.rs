//! Runs the programs of the tutorial in order, as processes, against an embedded API server. Step 5 is a test itself.

#![allow(clippy::unwrap_used, unreachable_pub)] // a panic fails the test; the modules belong to programs

mod page;

use std::{process::Stdio, time::Duration};

use k8s_openapi::api::{coordination::v1::Lease, core::v1::ConfigMap};
use kube::api::{Patch, PatchParams, PostParams};
use kube::config::{Config, KubeConfigOptions, Kubeconfig};
use kube::runtime::{conditions::is_deleted, wait::await_condition};
use kube::{Api, Client, ResourceExt};
use kube_testserver::{TestServer, User};
use page::Page;
use serde_json::json;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::timeout;

const TIMEOUT: Duration = Duration::from_secs(60);
/// The service account of `deploy.yaml`.
const ACCOUNT: &str = "system:serviceaccount:pages:pages";

/// A server, a client with all rights, and a folder for kubeconfigs.
struct Cluster {
    server: TestServer,
    client: Client,
    folder: TempDir,
}

impl Cluster {
    async fn start(server: TestServer) -> Self {
        let config = Kubeconfig::from_yaml(&server.kubeconfig()).unwrap();
        let config = Config::from_custom_kubeconfig(config, &KubeConfigOptions::default()).await.unwrap();
        Self { server, client: Client::try_from(config).unwrap(), folder: tempfile::tempdir().unwrap() }
    }

    /// A command with this kubeconfig, or that of the administrator.
    fn command(&self, program: &str, kubeconfig: Option<&str>) -> Command {
        let admin = self.server.kubeconfig();
        let file = self.folder.path().join(if kubeconfig.is_some() { "account" } else { "admin" });
        std::fs::write(&file, kubeconfig.unwrap_or(&admin)).unwrap();
        let mut command = Command::new(program);
        command.env("KUBECONFIG", file).stdout(Stdio::piped()).kill_on_drop(true);
        command
    }
}

/// A running program of the tutorial.
struct Program {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Program {
    fn start(mut command: Command) -> Self {
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    /// Waits until the program prints this line.
    async fn prints(&mut self, expected: &str) {
        let reading = async {
            loop {
                match self.lines.next_line().await.unwrap() {
                    Some(line) if line == expected => return,
                    Some(_) => {}
                    None => panic!("the program ended without the line {expected:?}"),
                }
            }
        };
        timeout(TIMEOUT, reading).await.unwrap_or_else(|_| panic!("no line {expected:?}"));
    }

    /// Ends the program as a kubelet does. It must succeed.
    async fn stop(mut self) {
        let id = self.child.id().unwrap().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().await.unwrap().success());
        assert!(timeout(TIMEOUT, self.child.wait()).await.unwrap().unwrap().success());
    }
}

async fn set_title(pages: &Api<Page>, title: &str) {
    let spec = page::PageSpec { title: title.into(), paragraphs: vec![] };
    let params = PatchParams::apply("test").force();
    pages.patch("hello", &params, &Patch::Apply(Page::new("hello", spec))).await.unwrap();
}

/// Waits until the index has this title for the page `hello`.
async fn index_has(maps: &Api<ConfigMap>, title: &str) {
    let has = |map: Option<&ConfigMap>| {
        map.and_then(|map| map.data.as_ref()?.get("hello")).is_some_and(|it| it == title)
    };
    timeout(TIMEOUT, await_condition(maps.clone(), "index", has))
        .await
        .expect("the index is not written")
        .unwrap();
}

#[tokio::test]
async fn the_first_four_steps_do_what_the_tutorial_says() {
    let cluster = Cluster::start(TestServer::start().await.unwrap()).await;
    let maps: Api<ConfigMap> = Api::default_namespaced(cluster.client.clone());
    let pages: Api<Page> = Api::default_namespaced(cluster.client.clone());

    let greeting = serde_json::from_value(json!({ "metadata": { "name": "greeting" } })).unwrap();
    maps.create(&PostParams::default(), &greeting).await.unwrap();
    let mut program = Program::start(cluster.command(env!("CARGO_BIN_EXE_tutorial-1"), None));
    program.prints("reconcile greeting").await;
    program.stop().await;

    let output = cluster.command(env!("CARGO_BIN_EXE_tutorial-2"), None).output().await.unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "Some(\"hello\"): Hello\n");
    assert!(output.status.success());

    let mut program = Program::start(cluster.command(env!("CARGO_BIN_EXE_tutorial-3"), None));
    program.prints("hello: Created").await;
    maps.delete("hello-html", &Default::default()).await.unwrap();
    program.prints("hello: Created").await;
    program.stop().await;

    let mut program = Program::start(cluster.command(env!("CARGO_BIN_EXE_tutorial-4"), None));
    program.prints("hello: Unchanged").await;
    index_has(&maps, "Hello").await;
    let hello = pages.get("hello").await.unwrap();
    assert_eq!(hello.finalizers(), ["example.com/index"]);
    pages.delete("hello", &Default::default()).await.unwrap();
    let uid = hello.uid().unwrap();
    let deleted = await_condition(pages, "hello", is_deleted(&uid));
    timeout(TIMEOUT, deleted).await.expect("the page is not cleaned up").unwrap();
    assert_eq!(maps.get("index").await.unwrap().data.unwrap_or_default().len(), 0);
    program.stop().await;
}

/// With the permissions of `deploy.yaml` only.
#[tokio::test]
async fn of_two_replicas_the_other_takes_over() {
    let account = User::new(ACCOUNT).group("system:serviceaccounts").token("secret");
    let server = TestServer::builder().with_rbac().with_user(account).start().await.unwrap();
    let cluster = Cluster::start(server).await;
    let program = env!("CARGO_BIN_EXE_tutorial-6");
    assert!(cluster.command(program, None).arg("register").status().await.unwrap().success());
    let namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: pages}\n";
    let manifests =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/book/tutorial/deploy.yaml")).unwrap();
    cluster.server.api().load(namespace).unwrap();
    cluster.server.api().load(manifests.as_str()).unwrap();

    // The kubeconfig has a context for the account; in a pod, the files of its service account take this place.
    let mut config = Kubeconfig::from_yaml(&cluster.server.kubeconfig()).unwrap();
    config.current_context = Some(ACCOUNT.into());
    for named in &mut config.contexts {
        named.context.as_mut().unwrap().namespace = Some("pages".into());
    }
    let config = serde_json::to_string(&config).unwrap();
    let replica = |name: &str| {
        let mut command = cluster.command(program, Some(&config));
        command.env("POD_NAME", name).env("HTTP_ADDRESS", "127.0.0.1:0");
        Program::start(command)
    };
    let (one, two) = (replica("one"), replica("two"));

    let pages: Api<Page> = Api::default_namespaced(cluster.client.clone());
    let maps: Api<ConfigMap> = Api::default_namespaced(cluster.client.clone());
    set_title(&pages, "First").await;
    index_has(&maps, "First").await;

    let leases: Api<Lease> = Api::namespaced(cluster.client.clone(), "pages");
    let holder = leases.get("pages").await.unwrap().spec.unwrap().holder_identity.unwrap();
    let (leader, standby) = if holder.starts_with("one_") { (one, two) } else { (two, one) };
    leader.stop().await;
    set_title(&pages, "Second").await;
    index_has(&maps, "Second").await;
    standby.stop().await;
}
