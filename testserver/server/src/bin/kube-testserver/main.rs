//! A Kubernetes API server for development, in one process: `kube-testserver --help`.

mod args;
mod log;

use std::{io, path::PathBuf, process::ExitCode};

use args::{Args, Command, USAGE};
use kube_testserver::{BuiltInController, StartError, TestServer};

fn main() -> ExitCode {
    let args = match args::parse(std::env::args_os().skip(1)) {
        Ok(Command::Serve(args)) => *args,
        Ok(Command::Help) => {
            println!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        Ok(Command::Version) => {
            println!("kube-testserver {}", env!("CARGO_PKG_VERSION"));
            return ExitCode::SUCCESS;
        }
        Err(problem) => {
            eprintln!("kube-testserver: {problem}\nTry `kube-testserver --help`.");
            return ExitCode::from(2);
        }
    };
    log::to_stderr();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let ended = runtime.map_err(Into::into).and_then(|runtime| runtime.block_on(serve(args)));
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("kube-testserver: {}", chain(&*error));
            ExitCode::FAILURE
        }
    }
}

/// Serves until SIGINT or SIGTERM.
async fn serve(args: Args) -> Result<(), Box<dyn std::error::Error>> {
    // Registered before the server starts, so that no signal is missed.
    let stop = stop_signal()?;
    let server = start(&args).await?;
    if let Some(dir) = &args.data {
        eprintln!("state in {}, resourceVersion {}", dir.display(), server.api().resource_version());
    }
    let kubeconfig = args.kubeconfig.unwrap_or_else(|| default_kubeconfig(args.data, server.addr().port()));
    write_private(&kubeconfig, &server.kubeconfig())
        .map_err(|error| format!("cannot write the kubeconfig {}: {error}", kubeconfig.display()))?;
    eprintln!("serving on {}", server.url());
    eprintln!("try: kubectl --kubeconfig {} get namespaces", kubeconfig.display());
    // For scripts: this line on standard output says that the server is ready, and where the kubeconfig is.
    println!("{}", kubeconfig.display());
    stop.await;
    eprintln!("stopping");
    server.shutdown().await;
    Ok(())
}

async fn start(args: &Args) -> Result<TestServer, StartError> {
    let mut builder = TestServer::builder().port(args.port).bind_address(args.bind_address);
    for name in &args.sans {
        builder = builder.san(name);
    }
    for entries in &args.runtime_config {
        builder = builder.runtime_config(entries);
    }
    for path in &args.objects {
        builder = builder.with_objects(path.clone());
    }
    if let Some(dir) = &args.data {
        builder = builder.data(dir);
    }
    if args.sync {
        builder = builder.sync();
    }
    if args.tls {
        builder = builder.tls();
    }
    if args.rbac {
        builder = builder.with_rbac();
    }
    if !args.without_pods {
        builder = builder.with(BuiltInController::Workloads).with(BuiltInController::Endpoints);
    }
    if !args.without_pods && !args.without_kubelet {
        builder = builder.with(BuiltInController::Kubelet);
    }
    if args.service_accounts {
        builder = builder.with(BuiltInController::ServiceAccounts);
    }
    for plugin in &args.disabled_plugins {
        builder = builder.disable_admission_plugin(*plugin);
    }
    if args.verbose {
        builder = builder.on_response(|record| eprintln!("{record}"));
    }
    let server = builder.start().await?;
    for (port, address) in &args.listen {
        server.api().kubelet().listen(*port, *address);
    }
    Ok(server)
}

fn default_kubeconfig(data: Option<PathBuf>, port: u16) -> PathBuf {
    match data {
        Some(dir) => dir.join("kubeconfig"),
        None => std::env::temp_dir().join(format!("kube-testserver-{port}.kubeconfig")),
    }
}

/// The kubeconfig may contain a key: readable by its owner only.
#[cfg(unix)]
fn write_private(path: &std::path::Path, text: &str) -> io::Result<()> {
    use std::{fs, io::Write, os::unix::fs::OpenOptionsExt};
    let next = path.with_extension("next");
    let mut file = fs::OpenOptions::new().create(true).write(true).truncate(true).mode(0o600).open(&next)?;
    file.write_all(text.as_bytes())?;
    fs::rename(next, path)
}

#[cfg(not(unix))]
fn write_private(path: &std::path::Path, text: &str) -> io::Result<()> {
    std::fs::write(path, text)
}

/// Completes on SIGINT or SIGTERM.
#[cfg(unix)]
fn stop_signal() -> io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}

#[cfg(not(unix))]
fn stop_signal() -> io::Result<impl Future<Output = ()>> {
    Ok(async {
        // Without signal support, it serves until it is killed.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    })
}

/// An error and its sources.
fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    std::iter::once(error.to_string()).chain(causes.map(ToString::to_string)).collect::<Vec<_>>().join(": ")
}
