//! The program of the operator.
//!
//! ```text
//! cargo run -p operator -- --embedded         # on an embedded API server, with a demonstration; then runs on
//! cargo run -p operator -- --embedded --once  # ends after the demonstration
//! cargo run -p operator -- --register         # applies the CRD and the webhook configuration to the current cluster
//! cargo run -p operator -- manifests examples/operator/deploy   # generates what is deployed
//! cargo run -p operator                       # runs in the current cluster
//! ```

use kube::{
    Client,
    error::ErrorChain,
    operator::{manager::Restart, manifests::ManifestsCommand},
};
use operator::{
    Addresses, NAME,
    embedded::Embedded,
    manager,
    manifests::{FORMS, manifests},
    register::register,
    telemetry,
};
use std::{
    ffi::OsString,
    io::Write as _,
    net::SocketAddr,
    process::ExitCode,
    sync::{Arc, Mutex},
};

const USAGE: &str =
    "usage: operator [--register | --embedded [--once]] [--metrics ADDRESS] [--webhooks ADDRESS]

  --register          apply the CRD and the webhook configuration, and end
  --embedded          run on an API server in this process, and demonstrate the operator
  --once              end after the demonstration
  --metrics ADDRESS   serve metrics and health here (0.0.0.0:8080; with --embedded 127.0.0.1:8080)
  --webhooks ADDRESS  serve the webhooks here (0.0.0.0:9443; with --embedded 127.0.0.1:9443)

       operator ";

#[derive(Debug)]
enum Command {
    Run(Arguments),
    Manifests(ManifestsCommand),
}

impl Command {
    fn parse(args: impl Iterator<Item = OsString>) -> Result<Self, String> {
        let mut args = args.peekable();
        match args.next_if(|arg| arg == "manifests") {
            Some(_) => ManifestsCommand::parse(args).map(Self::Manifests).map_err(|error| error.to_string()),
            None => Arguments::parse(args.map(|arg| arg.to_string_lossy().into_owned())).map(Self::Run),
        }
    }
}

fn generate(command: &ManifestsCommand) -> anyhow::Result<()> {
    let manifests = manifests(command.namespace().unwrap_or(NAME))?;
    std::io::stdout().write_all(command.run(&manifests, FORMS)?.as_bytes())?;
    Ok(())
}

#[derive(Debug, Default)]
struct Arguments {
    register: bool,
    embedded: bool,
    once: bool,
    metrics: Option<SocketAddr>,
    webhooks: Option<SocketAddr>,
}

impl Arguments {
    fn parse(mut args: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut parsed = Self::default();
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "--register" => parsed.register = true,
                "--embedded" => parsed.embedded = true,
                "--once" => parsed.once = true,
                "--metrics" => parsed.metrics = Some(address(&arg, args.next())?),
                "--webhooks" => parsed.webhooks = Some(address(&arg, args.next())?),
                other => return Err(format!("unknown argument {other:?}")),
            }
        }
        match parsed {
            Self { once: true, embedded: false, .. } => Err("--once needs --embedded".into()),
            Self { register: true, embedded: true, .. } => Err("--embedded registers by itself".into()),
            parsed => Ok(parsed),
        }
    }

    fn addresses(&self) -> Addresses {
        let Addresses { mut metrics, mut webhooks } = Addresses::IN_CLUSTER;
        if self.embedded {
            // A demonstration does not listen on the network.
            [&mut metrics, &mut webhooks].into_iter().for_each(|it| it.set_ip([127, 0, 0, 1].into()));
        }
        Addresses { metrics: self.metrics.unwrap_or(metrics), webhooks: self.webhooks.unwrap_or(webhooks) }
    }
}

fn address(option: &str, value: Option<String>) -> Result<SocketAddr, String> {
    let value = value.unwrap_or_default();
    value
        .parse()
        .map_err(|_| format!("{option}: expected an address such as 127.0.0.1:8080, found {value:?}"))
}

#[tokio::main]
async fn main() -> ExitCode {
    let command = match Command::parse(std::env::args_os().skip(1)) {
        Ok(command) => command,
        Err(problem) => {
            eprintln!("operator: {problem}\n{USAGE}{}", ManifestsCommand::USAGE);
            return ExitCode::from(2);
        }
    };
    let result = match command {
        Command::Run(arguments) => run(&arguments).await,
        Command::Manifests(command) => generate(&command),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("operator: {}", ErrorChain(error.as_ref()));
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let exporter = telemetry::install()?;
    let result = run_with(arguments).await;
    if let Some(exporter) = exporter {
        tokio::task::spawn_blocking(move || exporter.shutdown()).await??;
    }
    result
}

async fn run_with(arguments: &Arguments) -> anyhow::Result<()> {
    let addresses = arguments.addresses();
    if arguments.embedded {
        return run_embedded(addresses, arguments.once).await;
    }
    let client = Client::try_default().await?;
    if arguments.register {
        return register(&client).await;
    }
    Ok(manager(client, addresses).run_until_signal().await?)
}

async fn run_embedded(addresses: Addresses, once: bool) -> anyhow::Result<()> {
    let server = Arc::new(Embedded::start(addresses.webhooks).await?);
    let (shown, outcome) = tokio::sync::oneshot::channel();
    let shown = Arc::new(Mutex::new(Some(shown)));
    let manager = manager(server.client(), addresses);
    // As a component, because it needs the webhooks: they are served before components start.
    let manager = manager.component("demonstration", Restart::Never, move |stop| {
        let (server, shown) = (Arc::clone(&server), Arc::clone(&shown));
        async move {
            let result = stop.run_until_cancelled(server.demonstrate()).await.unwrap_or(Ok(()));
            if once {
                let shown = shown.lock().ok().and_then(|mut shown| shown.take());
                shown.map(|shown| shown.send(result));
            } else {
                result?;
            }
            stop.cancelled().await;
            anyhow::Ok(())
        }
    });
    if !once {
        return Ok(manager.run_until_signal().await?);
    }
    let mut result = Ok(());
    manager.run_until(async { result = outcome.await.unwrap_or(Ok(())) }).await?;
    result
}
