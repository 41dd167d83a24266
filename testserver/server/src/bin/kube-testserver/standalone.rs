//! The program `kube-testserver`: serves with the arguments of the command line, and writes a kubeconfig.

use std::{
    io::{self, Write},
    path::{Path, PathBuf},
};

use kube_testserver::{BuiltInController, StartError, TestServer};

use crate::{args::Args, stop::stop_signal};

/// Serves until SIGINT or SIGTERM.
pub(crate) async fn serve(args: Args) -> Result<(), Box<dyn std::error::Error>> {
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
    // Whoever started it need not read it.
    let _ = writeln!(std::io::stdout(), "{}", kubeconfig.display());
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
        builder = builder.with(BuiltInController::Events);
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
fn write_private(path: &Path, text: &str) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = path.file_name().unwrap_or_default();
    kube_testserver::replace_private(folder, name, |file| file.write_all(text.as_bytes()))
}
