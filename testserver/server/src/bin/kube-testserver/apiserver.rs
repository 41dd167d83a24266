//! The program `kube-apiserver` of envtest: the server alone, without the controllers of a cluster.

use std::{fs, io, path::Path};

use kube_testserver::{Builder, BuiltInController, TestServer};

use crate::{Error, apiserver_args::Args, etcd, stop::stop_signal};

pub(crate) const NAME: &str = "kube-apiserver";

/// Those that are on unless switched off; on a cluster, kube-controller-manager has them.
const CONTROLLERS: [BuiltInController; 4] = [
    BuiltInController::GarbageCollection,
    BuiltInController::NamespaceDeletion,
    BuiltInController::StorageProtection,
    BuiltInController::RoleAggregation,
];

/// Serves until SIGINT or SIGTERM.
pub(crate) async fn serve(args: Args) -> Result<(), Error> {
    // Registered before the server starts, so that no signal is missed.
    let stop = stop_signal()?;
    let storage = etcd::storage(&args.etcd).await?;
    let mut builder = builder(&args)?.data(storage.dir);
    if storage.sync {
        builder = builder.sync();
    }
    let server = builder.start().await?;
    eprintln!("serving on {}", server.url());
    stop.await;
    server.shutdown().await;
    Ok(())
}

fn builder(args: &Args) -> Result<Builder, Error> {
    let (certificate, key) = certificate(args)?;
    let mut builder = TestServer::builder().bind_address(args.bind_address).port(args.port);
    builder = builder.certificate(certificate, key);
    if let Some(file) = &args.client_ca {
        builder = builder.client_ca(read(file)?);
    }
    if let Some(issuer) = &args.issuer {
        builder = builder.service_account_issuer(issuer);
    }
    if let Some(file) = &args.token_key {
        builder = builder.service_account_key(read(file)?);
    }
    if let Some(range) = &args.service_range {
        builder = builder.service_range(range);
    }
    if args.rbac {
        builder = builder.with_rbac();
    }
    if let Some(streams) = args.streams {
        builder = builder.max_concurrent_streams(streams);
    }
    if args.verbose {
        builder = builder.on_response(|record| eprintln!("{record}"));
    }
    builder = CONTROLLERS.into_iter().fold(builder, Builder::without);
    builder = args.runtime_config.iter().fold(builder, Builder::runtime_config);
    Ok(args.disabled_plugins.iter().copied().fold(builder, Builder::disable_admission_plugin))
}

/// The certificate and its key. As kube-apiserver does, makes those in the directory if they are missing: clients find the certificate
/// there.
fn certificate(args: &Args) -> Result<(String, String), Error> {
    if let Some((certificate, key)) = &args.certificate {
        return Ok((read(certificate)?, read(key)?));
    }
    let (certificate, key) = (args.cert_dir.join("apiserver.crt"), args.cert_dir.join("apiserver.key"));
    if !certificate.exists() && !key.exists() {
        let names = vec!["localhost".to_owned(), args.bind_address.to_string()];
        let certified_key = rcgen::generate_simple_self_signed(names)?;
        fs::create_dir_all(&args.cert_dir).map_err(|why| cannot("create", &args.cert_dir, &why))?;
        write(&key, &certified_key.signing_key.serialize_pem())?;
        write(&certificate, &certified_key.cert.pem())?;
    }
    Ok((read(&certificate)?, read(&key)?))
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|why| cannot("read", path, &why))
}

/// Readable by the owner only.
fn write(path: &Path, text: &str) -> Result<(), String> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written = options.open(path).and_then(|mut file| io::Write::write_all(&mut file, text.as_bytes()));
    written.map_err(|why| cannot("write", path, &why))
}

fn cannot(what: &str, path: &Path, why: &io::Error) -> String {
    format!("cannot {what} {}: {why}", path.display())
}
