//! `cargo kube dev`: from the first build to the end.

use std::io::{BufRead as _, BufReader};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube_client::config::Kubeconfig;
use kube_client::{Api, Client, Config};

use crate::harness::{Project, text};

const LIMIT: Duration = Duration::from_secs(60);

/// A running `cargo kube dev`. When it is dropped, two signals end it together with its operator, even a deaf one.
struct Dev {
    child: Child,
    lines: Receiver<String>,
    seen: Vec<String>,
}

impl Dev {
    fn start(project: &Project) -> Self {
        Self::start_with(project, &["--verbose"])
    }

    fn start_with(project: &Project, further: &[&str]) -> Self {
        Self::start_by(&mut project.command(&[&["dev", "--"], further].concat()))
    }

    fn start_by(command: &mut Command) -> Self {
        let mut child = command.stderr(Stdio::piped()).spawn().expect("the program runs");
        let (sender, lines) = mpsc::channel();
        let stderr = BufReader::new(child.stderr.take().expect("a pipe"));
        std::thread::spawn(move || {
            stderr.lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
        });
        Self { child, lines, seen: Vec::new() }
    }

    /// The next line with this text.
    fn line(&mut self, text: &str) -> String {
        let until = Instant::now() + LIMIT;
        while let Ok(line) = self.lines.recv_timeout(until.saturating_duration_since(Instant::now())) {
            self.seen.push(line.clone());
            if line.contains(text) {
                return line;
            }
        }
        panic!("no line with {text:?}: {:#?}", self.seen)
    }

    fn signal(&self, name: &str) {
        let killed = Command::new("kill").args([name, &self.child.id().to_string()]).status();
        assert!(killed.expect("kill").success());
    }

    fn ended(&mut self) -> ExitStatus {
        let until = Instant::now() + LIMIT;
        loop {
            match self.child.try_wait().expect("a status") {
                Some(status) => return status,
                None if Instant::now() > until => panic!("it does not end: {:#?}", self.seen),
                None => std::thread::sleep(Duration::from_millis(20)),
            }
        }
    }
}

impl Drop for Dev {
    fn drop(&mut self) {
        let until = Instant::now() + Duration::from_secs(5);
        while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < until {
            let _ = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status();
            std::thread::sleep(Duration::from_millis(200));
        }
        let _ = self.child.kill();
    }
}

/// Waits until the log of the operators is this.
fn log_is(project: &Project, expected: &[&str]) {
    let until = Instant::now() + LIMIT;
    loop {
        let log = project.read("log");
        let lines: Vec<_> = log.lines().map(|line| line.split(" /").next().unwrap_or_default()).collect();
        if lines == expected {
            return;
        }
        assert!(Instant::now() < until, "expected {expected:?}, found {lines:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn client(kubeconfig: &Path) -> Client {
    let text = std::fs::read_to_string(kubeconfig).expect("a kubeconfig");
    let config = Config::try_from(Kubeconfig::from_yaml(&text).expect("valid")).expect("valid");
    Client::try_from(config).expect("a client")
}

/// What the user and the operator see of the server.
fn look(kubeconfig: &Path, of_operator: &Path) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let user = client(kubeconfig);
        let sample =
            Api::<ConfigMap>::default_namespaced(user.clone()).get("sample").await.expect("the sample");
        assert_eq!(sample.metadata.namespace.as_deref(), Some("default"));
        let operator = client(of_operator);
        assert_eq!(operator.default_namespace(), "tools");
        Api::<ConfigMap>::all(operator.clone()).list(&Default::default()).await.expect("its role permits it");
        let refused =
            Api::<Secret>::all(operator).list(&Default::default()).await.expect_err("no role permits it");
        assert!(refused.to_string().contains("system:serviceaccount:tools:op"), "{refused}");
    });
}

#[test]
fn the_operator_is_restarted_at_changes_and_ends_with_it() {
    let project = Project::new();
    let mut dev = Dev::start(&project);
    dev.line("op is started");
    let kubeconfig = dev.line("try: kubectl --kubeconfig ");
    assert!(kubeconfig.ends_with(" get namespaces"), "it has no definition: {kubeconfig}");
    let kubeconfig =
        kubeconfig.split_whitespace().skip_while(|word| *word != "--kubeconfig").nth(1).expect("a path");
    assert_eq!(kubeconfig, "target/op.kubeconfig", "the same in each session");
    let kubeconfig = project.path("project").join(kubeconfig);
    dev.line("sample configmap/sample created");
    log_is(&project, &["start one run --verbose quick"]);
    let log = project.read("log");
    let of_operator = Path::new(log.split_whitespace().last().expect("a path"));
    look(&kubeconfig, of_operator);

    // A new program.
    project.program("two");
    project.write("project/src/main.rs", "fn main() { println!() }\n");
    dev.line("cargo kube dev: src/main.rs has changed");
    log_is(&project, &["start one run --verbose quick", "stop one", "start two run --verbose quick"]);

    // No program: the old one goes on.
    project.write("broken", "");
    project.write("project/src/main.rs", "fn main() { broken }\n");
    dev.line("error: it is broken");
    dev.line(
        "op does not build: see the messages of Cargo above; the old operator goes on, until the next change",
    );
    std::fs::remove_file(project.path("broken")).unwrap();
    // The same program: nothing happens, and the next one is the third.
    project.write("project/src/main.rs", "fn main() {}\n");
    project.program("three");
    project.write("project/src/main.rs", "fn main() { 3; }\n");
    let expected = [
        "start one run --verbose quick",
        "stop one",
        "start two run --verbose quick",
        "stop two",
        "start three run --verbose quick",
    ];
    log_is(&project, &expected);

    let port = std::fs::read_to_string(&kubeconfig).unwrap();
    let port = port
        .split("https://")
        .nth(1)
        .and_then(|url| url.split_whitespace().next())
        .expect("an address")
        .to_owned();
    TcpStream::connect(&port).expect("it serves").shutdown(std::net::Shutdown::Both).unwrap();
    dev.signal("-TERM");
    assert!(dev.ended().success());
    log_is(&project, &[&expected[..], &["stop three"]].concat());
    assert!(!kubeconfig.exists() && !of_operator.parent().unwrap().exists(), "they end with the session");
    TcpStream::connect(&port).expect_err("the server has ended");
}

#[test]
fn an_operator_that_ends_is_started_at_the_next_change() {
    let project = Project::new();
    let with_end = "#!/bin/sh\nhome=HOME_FOLDER\nif [ \"$1\" = manifests ]; then for folder; do :; done; cp \"$home/install.yaml\" \"$folder\"; exit; fi\necho ended >> \"$home/log\"; exit 3\n";
    project.executable("program", with_end);
    let mut dev = Dev::start(&project);
    dev.line("the operator has ended with exit code 3; it is started again after the next change");
    project.write("project/src/main.rs", "fn main() { }\n");
    dev.line("the operator has ended with exit code 3");
    log_is(&project, &["ended", "ended"]);
    dev.signal("-INT");
    assert!(dev.ended().success());
}

#[test]
fn an_operator_that_does_not_end_is_killed_by_a_second_signal() {
    let project = Project::new();
    let deaf = "#!/bin/sh\nhome=HOME_FOLDER\nif [ \"$1\" = manifests ]; then for folder; do :; done; cp \"$home/install.yaml\" \"$folder\"; exit; fi\ntrap '' TERM\necho $$ > \"$home/pid\"\nwhile :; do sleep 0.02; done\n";
    project.executable("program", deaf);
    let mut dev = Dev::start(&project);
    dev.line("op is started");
    while project.read("pid").is_empty() {
        std::thread::sleep(Duration::from_millis(10));
    }
    dev.signal("-TERM");
    dev.line("SIGTERM: ending");
    dev.signal("-TERM");
    assert!(dev.ended().success());
    assert!(!is_alive(project.read("pid").trim()), "it was killed and waited for");
}

fn is_alive(pid: &str) -> bool {
    Command::new("kill").args(["-0", pid]).stderr(Stdio::null()).status().expect("kill").success()
}

/// Waits until both processes have said who they are, and returns their numbers.
fn pids(project: &Project) -> [String; 2] {
    let until = Instant::now() + LIMIT;
    loop {
        let pids = ["pid", "child"].map(|name| project.read(name).trim().to_owned());
        if pids.iter().all(|pid| !pid.is_empty()) {
            return pids;
        }
        assert!(Instant::now() < until, "the operator has not started");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn is_gone(pid: &str) {
    let until = Instant::now() + LIMIT;
    while is_alive(pid) {
        assert!(Instant::now() < until, "{pid} runs on");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// An operator with a child.
const PARENT: &str = "#!/bin/sh\nhome=HOME_FOLDER\nif [ \"$1\" = manifests ]; then for folder; do :; done; cp \"$home/install.yaml\" \"$folder\"; exit; fi\n(while :; do sleep 0.02; done) &\necho $! > \"$home/child\"\necho $$ > \"$home/pid\"\n";

#[test]
fn the_operator_and_its_children_end_with_a_dev_that_is_killed() {
    let project = Project::new();
    project.executable("program", &format!("{PARENT}while :; do sleep 0.02; done\n"));
    let mut dev = Dev::start(&project);
    dev.line("op is started");
    let pids = pids(&project);
    assert!(pids.iter().all(|pid| is_alive(pid)));
    dev.signal("-KILL");
    dev.ended();
    pids.iter().for_each(|pid| is_gone(pid));
}

#[test]
fn the_children_of_an_operator_that_ends_are_killed() {
    let project = Project::new();
    project.executable("program", &format!("{PARENT}exit 3\n"));
    let mut dev = Dev::start(&project);
    dev.line("the operator has ended with exit code 3");
    let [_, child] = pids(&project);
    is_gone(&child);
    dev.signal("-INT");
    assert!(dev.ended().success());
}

#[test]
fn the_debug_page_is_where_the_arguments_say() {
    let project = Project::new();
    let address = free_address();
    let mut dev = Dev::start_with(&project, &["--metrics", &address]);
    dev.line("op is started");
    // The operator serves it at last.
    let _page = TcpListener::bind(&address).expect("a port");
    dev.line(&format!("its debug page: http://{address}/debug/controllers"));
    dev.signal("-INT");
    assert!(dev.ended().success());
}

/// At which nothing listens.
fn free_address() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("its address").to_string()
}

#[test]
fn the_page_of_another_program_is_not_announced() {
    let project = Project::new();
    let other = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = other.local_addr().expect("its address").to_string();
    let mut dev = Dev::start_with(&project, &["--metrics", &address]);
    dev.line(&format!(
        "another program listens on {address}, so the operator cannot serve its port http there: end that one; \
         a program that `new` writes takes another one by `-- --metrics 127.0.0.1:PORT`"
    ));
    dev.line("sample configmap/sample created");
    dev.signal("-INT");
    assert!(dev.ended().success());
    dev.line("SIGINT: ending");
    assert!(!dev.seen.iter().any(|line| line.contains("debug page")), "{:#?}", dev.seen);
}

#[test]
fn every_port_that_another_program_has_is_told() {
    let project = Project::new();
    let others = ["webhook", "grpc"].map(|name| (name, TcpListener::bind("127.0.0.1:0").expect("a port")));
    let address = |at: usize| others[at].1.local_addr().expect("its address");
    let port = format!("ports: [{{name: grpc, containerPort: {}}}, ", address(1).port());
    project.write("install.yaml", &project.read("install.yaml").replace("ports: [", &port));
    let webhooks = address(0).to_string();
    let mut dev = Dev::start_with(&project, &["--metrics", &free_address(), "--webhooks", &webhooks]);
    let told = |at: usize| {
        format!(
            "another program listens on {}, so the operator cannot serve its port {} there: end that one",
            address(at),
            others[at].0
        )
    };
    assert!(dev.line(&told(1)).ends_with("end that one"));
    assert!(dev.line(&told(0)).ends_with("another one by `-- --webhooks 127.0.0.1:PORT`"));
    dev.line("op is started");
    dev.signal("-INT");
    assert!(dev.ended().success());
}

#[test]
fn a_second_embedded_server_is_refused() {
    let project = Project::new();
    for (arguments, expected) in [
        (&["dev", "--embedded"][..], "error: --embedded: `cargo kube dev` starts an embedded server already"),
        (
            &["dev", "--", "-v", "--embedded"],
            "error: -- --embedded: the operator would start a second server",
        ),
    ] {
        let output = project.run(arguments);
        let error = text(&output.stderr);
        assert!(output.status.code() == Some(2) && error.starts_with(expected), "{error}");
        assert!(error.trim_end().ends_with("out") && error.lines().count() == 1, "{error}");
    }
}

#[test]
fn a_first_build_that_fails_waits_for_a_change() {
    let project = Project::new();
    project.write("broken", "");
    let mut dev = Dev::start(&project);
    dev.line("op does not build: see the messages of Cargo above; waiting for the next change");
    std::fs::remove_file(project.path("broken")).unwrap();
    project.write("project/src/main.rs", "fn main() { }\n");
    dev.line("op is started");
    dev.signal("-TERM");
    assert!(dev.ended().success());
}

/// A server that is no part of `dev`, with its kubeconfig.
fn cluster(project: &Project) -> (tokio::runtime::Runtime, kube_testserver::TestServer, Client) {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let server =
        runtime.block_on(kube_testserver::TestServer::builder().with_rbac().tls().start()).expect("a server");
    project.write("kubeconfig", &server.kubeconfig());
    let _in_runtime = runtime.enter();
    let client = client(&project.path("kubeconfig"));
    (runtime, server, client)
}

#[test]
fn in_a_cluster_the_operator_is_its_service_account() {
    let project = Project::new();
    let (runtime, _server, admin) = cluster(&project);
    let kubeconfig = project.path("kubeconfig");
    let mut dev = Dev::start_by(project.command(&["dev", "--cluster"]).env("KUBECONFIG", &kubeconfig));
    dev.line("the cluster of the context ");
    dev.line("op is started");
    log_is(&project, &["start one run quick"]);
    let log = project.read("log");
    runtime.block_on(async {
        let operator = client(Path::new(log.split_whitespace().last().expect("a path")));
        Api::<ConfigMap>::all(operator.clone()).list(&Default::default()).await.expect("its role permits it");
        let refused =
            Api::<Secret>::all(operator).list(&Default::default()).await.expect_err("no role permits it");
        assert!(refused.to_string().contains("system:serviceaccount:tools:op"), "{refused}");
        let sample =
            Api::<ConfigMap>::default_namespaced(admin.clone()).get_opt("sample").await.expect("it may ask");
        assert!(sample.is_none(), "samples are the user's to apply");
    });
    dev.signal("-INT");
    assert!(dev.ended().success());

    // An operator that is deployed is not run beside.
    let all = kube_tools::yaml::Objects::read(project.path("install.yaml")).expect("objects");
    runtime.block_on(async {
        let params = kube_client::api::PatchParams::apply("user").force();
        kube_tools::yaml::Applier::new(admin)
            .apply(&all, &params)
            .await
            .into_result()
            .expect("they are applied");
    });
    let mut dev = Dev::start_by(project.command(&["dev", "--cluster"]).env("KUBECONFIG", &kubeconfig));
    dev.line(
        "expected `kubectl scale --replicas=0 -n tools deployment/op` before; waiting for the next change",
    );
    dev.signal("-INT");
    assert!(dev.ended().success());
}
