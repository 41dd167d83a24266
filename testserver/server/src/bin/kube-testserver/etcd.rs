//! The program `etcd` of envtest: it owns the directory in which `kube-apiserver` keeps its state, and tells it which.
//!
//! It stores nothing itself, and speaks no protocol of etcd: only `/health`, and a question that the `kube-apiserver` of this program asks.

use std::{convert::Infallible, ffi::OsString, net::SocketAddr, path::PathBuf, time::Duration};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Empty, Full};
use hyper_util::rt::TokioIo;
use kube_serve::listener::Listener;
use serde_json::{Value, json};
use tokio::net::TcpStream;

use crate::{
    Error,
    flags::{self, Kind},
    stop::stop_signal,
};

pub(crate) const NAME: &str = "etcd";

/// The question about the directory.
const STORAGE: &str = "/kube-testserver/storage";
/// How long `kube-apiserver` waits for an etcd that is about to start.
const WAIT: Duration = Duration::from_secs(10);
const RETRY: Duration = Duration::from_millis(50);

const DATA_DIR: &str = "data-dir";
const LISTEN: &str = "listen-client-urls";
const NO_FSYNC: &str = "unsafe-no-fsync";

/// They are about peers, names, logs and the format of files.
const IGNORED: &str = "advertise-client-urls auto-compaction-mode auto-compaction-retention initial-advertise-peer-urls \
    initial-cluster initial-cluster-state initial-cluster-token listen-metrics-urls listen-peer-urls \
    log-level log-outputs logger max-request-bytes max-txn-ops name quota-backend-bytes snapshot-count";

const USAGE: &str = "\
The storage of the kube-apiserver of kube-testserver, with the flags of etcd that Go's envtest uses. It serves no other client.

  --listen-client-urls URLS  listen on these, such as http://127.0.0.1:2379 (http://localhost:2379)
  --data-dir DIR             keep the state in DIR (default.etcd)
  --unsafe-no-fsync          respond to a write before the disk has it
  --version                  print the version
  -h, --help                 print this

Without effect:";

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Command {
    Serve(Args),
    Print(String),
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Args {
    /// Hosts with ports.
    listen: Vec<String>,
    storage: Storage,
}

/// Where and how the state is kept.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Storage {
    pub(crate) dir: PathBuf,
    pub(crate) sync: bool,
}

pub(crate) fn parse(args: impl Iterator<Item = OsString>) -> Result<Command, String> {
    let kind = |name: &str| match name {
        DATA_DIR | LISTEN => Some(Kind::Value),
        NO_FSYNC | "h" | "help" | "version" => Some(Kind::Switch),
        _ => IGNORED.split(' ').any(|flag| flag == name).then_some(Kind::Value),
    };
    let mut out = Args {
        listen: vec!["localhost:2379".into()],
        storage: Storage { dir: "default.etcd".into(), sync: true },
    };
    for (name, value) in flags::read(args, kind)? {
        match name.as_str() {
            DATA_DIR => out.storage.dir = value.into(),
            LISTEN => out.listen = value.split(',').map(host).collect::<Result<_, _>>()?,
            NO_FSYNC => out.storage.sync = !flags::switch(&name, &value)?,
            "h" | "help" => return Ok(Command::Print(format!("{USAGE}{}", flags::help(IGNORED)))),
            "version" => {
                let version = format!("etcd of kube-testserver {}", env!("CARGO_PKG_VERSION"));
                return Ok(Command::Print(version));
            }
            _ => {}
        }
    }
    Ok(Command::Serve(out))
}

/// Host and port of a URL.
pub(crate) fn host(url: &str) -> Result<String, String> {
    let wrong = || format!("expected a URL such as http://127.0.0.1:2379, got {url:?}");
    let host = url.strip_prefix("http://").ok_or_else(wrong)?.trim_end_matches('/');
    let (name, port) = host.rsplit_once(':').ok_or_else(wrong)?;
    port.parse::<u16>().map_err(|_| wrong())?;
    if name.is_empty() || host.contains('/') { Err(wrong()) } else { Ok(host.to_owned()) }
}

/// Serves until SIGINT or SIGTERM.
pub(crate) async fn serve(args: Args) -> Result<(), Error> {
    // Registered before the server starts, so that no signal is missed.
    let stop = stop_signal()?;
    let Args { listen, storage } = args;
    std::fs::create_dir_all(&storage.dir)
        .map_err(|why| format!("cannot create the directory {}: {why}", storage.dir.display()))?;
    let dir = std::fs::canonicalize(&storage.dir)?;
    let answer: Bytes = json!({"dir": dir, "sync": storage.sync}).to_string().into();
    let mut listeners = Vec::new();
    for host in &listen {
        let bound = Listener::bind(address(host).await?).await;
        listeners.push(bound.map_err(|why| format!("cannot listen on {host}: {why}"))?);
        eprintln!("serving on http://{host}, state in {}", dir.display());
    }
    let (stopping, stopped) = tokio::sync::watch::channel(());
    let serving = listeners.into_iter().map(|listener| {
        let (answer, mut stopped) = (answer.clone(), stopped.clone());
        let service = tower::service_fn(move |request: Request<hyper::body::Incoming>| {
            std::future::ready(Ok::<_, Infallible>(respond(request.uri().path(), &answer)))
        });
        // An error when the sender is gone: both stop the server.
        listener.serve(service, async move { drop(stopped.changed().await) })
    });
    let serving = futures::future::join_all(serving);
    tokio::join!(serving, async {
        stop.await;
        drop(stopping);
    });
    Ok(())
}

fn respond(path: &str, storage: &Bytes) -> Response<Full<Bytes>> {
    let (code, body) = match path {
        "/health" => (StatusCode::OK, Bytes::from_static(b"{\"health\":\"true\",\"reason\":\"\"}")),
        "/version" => (StatusCode::OK, Bytes::from_static(b"{\"etcdserver\":\"kube-testserver\"}")),
        STORAGE => (StatusCode::OK, storage.clone()),
        _ => (StatusCode::NOT_FOUND, Bytes::from_static(b"404 page not found\n")),
    };
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = code;
    response
}

async fn address(host: &str) -> Result<SocketAddr, String> {
    let address =
        tokio::net::lookup_host(host).await.map_err(|why| format!("cannot resolve {host}: {why}"))?.next();
    address.ok_or_else(|| format!("{host} has no address"))
}

/// Where the etcd at this host and port keeps the state. Waits for one that is about to start.
pub(crate) async fn storage(host: &str) -> Result<Storage, Error> {
    let connected = tokio::time::timeout(WAIT, async {
        loop {
            match TcpStream::connect(host).await {
                Ok(stream) => return stream,
                Err(_) => tokio::time::sleep(RETRY).await,
            }
        }
    });
    let stream = connected.await.map_err(|_| format!("no etcd listens on http://{host}"))?;
    let answer = tokio::time::timeout(WAIT, ask(host, stream)).await;
    let answer = answer.ok().and_then(Result::ok).as_ref().and_then(read);
    Ok(answer.ok_or_else(|| {
        format!("http://{host} is not the etcd of kube-testserver, which this kube-apiserver needs")
    })?)
}

async fn ask(host: &str, stream: TcpStream) -> Result<Value, Error> {
    let (mut send, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    let request = Request::get(STORAGE).header(http::header::HOST, host).body(Empty::<Bytes>::new())?;
    let answer =
        async { Ok::<_, Error>(send.send_request(request).await?.into_body().collect().await?.to_bytes()) };
    let mut connection = std::pin::pin!(connection);
    let bytes = tokio::select! {
        answer = answer => answer?,
        ended = &mut connection => return Err(ended.err().map_or("the connection ended".into(), Into::into)),
    };
    Ok(serde_json::from_slice(&bytes)?)
}

fn read(answer: &Value) -> Option<Storage> {
    Some(Storage { dir: answer["dir"].as_str()?.into(), sync: answer["sync"].as_bool()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flags_of_envtest_are_known() {
        let parsed = |line: &str| parse(line.split_whitespace().map(OsString::from));
        let line = "--advertise-client-urls=http://127.0.0.1:1 --data-dir=d --listen-client-urls=http://127.0.0.1:1,http://[::1]:2/ \
                    --listen-peer-urls=http://127.0.0.1:3 --unsafe-no-fsync=true";
        let listen = vec!["127.0.0.1:1".to_owned(), "[::1]:2".to_owned()];
        let expected = Args { listen, storage: Storage { dir: "d".into(), sync: false } };
        assert_eq!(parsed(line), Ok(Command::Serve(expected)));
        assert_eq!(parsed("--data-dirs=d"), Err("unknown flag --data-dirs".to_owned()));
        for url in ["https://a:1", "http://a", "http://:1", "http://a:b", "http://a:1/b"] {
            let problem = format!("expected a URL such as http://127.0.0.1:2379, got {url:?}");
            assert_eq!(parsed(&format!("--listen-client-urls={url}")), Err(problem));
        }
    }

    #[test]
    fn the_help_names_every_flag_at_the_beginning_of_a_line() {
        let Ok(Command::Print(help)) = parse(["--help".into()].into_iter()) else { panic!("no help") };
        let flags = IGNORED.split(' ').chain([DATA_DIR, LISTEN, NO_FSYNC]);
        for name in flags {
            assert!(help.lines().any(|line| line.trim_start().starts_with(&format!("--{name}"))), "{name}");
        }
    }
}
