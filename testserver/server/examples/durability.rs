//! Kills the standalone server under load, or fills its disk, and checks that no acknowledged write is lost. `cargo xtask testserver-data`
//! runs both.
//!
//!   durability kill BINARY DIR OBJECTS KILLS   OBJECTS are created, then the server is killed KILLS times while clients write
//!   durability full BINARY DIR                 DIR is on a small file system, which the writes fill

use std::{
    collections::BTreeMap,
    error::Error,
    fs,
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use bytes::Bytes;
use http::StatusCode;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http2::SendRequest;
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::Value;
use tokio::task::JoinSet;

type Failure = Box<dyn Error + Send + Sync>;
type Connection = SendRequest<Full<Bytes>>;
/// The resourceVersion of each acknowledged object by name.
type Acknowledged = BTreeMap<String, String>;

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
const WRITERS: usize = 8;
/// The longest time until a release build serves its state again.
const START_LIMIT: Duration = Duration::from_secs(5);

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["kill", binary, dir, objects, kills] => {
            kill_under_load(Path::new(binary), Path::new(dir), objects.parse()?, kills.parse()?).await
        }
        ["full", binary, dir] => fill_the_disk(Path::new(binary), Path::new(dir)).await,
        _ => Err("expected: kill BINARY DIR OBJECTS KILLS, or full BINARY DIR".into()),
    }
}

async fn kill_under_load(binary: &Path, dir: &Path, objects: usize, kills: usize) -> Result<(), Failure> {
    let mut acknowledged = Acknowledged::new();
    let (mut server, _) = Server::start(binary, dir)?;
    acknowledged.extend(write(server.connections().await?, "base", objects / WRITERS).await?);
    let mut slowest = Duration::ZERO;
    for round in 0..kills {
        let name = format!("round-{round}");
        let load = write(server.connections().await?, &name, usize::MAX);
        // At another moment of the load each time.
        let moment = tokio::time::sleep(Duration::from_millis(50 + 37 * round as u64 % 200));
        let kill = async {
            moment.await;
            server.kill()
        };
        let (written, killed) = tokio::join!(load, kill);
        killed?;
        acknowledged.extend(written?);
        let started;
        (server, started) = Server::start(binary, dir)?;
        slowest = slowest.max(started);
        check(&server, &acknowledged).await?;
    }
    let size = fs::metadata(dir.join("state"))?.len() >> 20;
    println!(
        "{} acknowledged writes, {kills} kills, nothing lost; state file {size} MiB, slowest start {slowest:.1?}",
        acknowledged.len()
    );
    if slowest > START_LIMIT && !cfg!(debug_assertions) {
        return Err(format!("a start took {slowest:.1?}, expected at most {START_LIMIT:?}").into());
    }
    Ok(())
}

async fn fill_the_disk(binary: &Path, dir: &Path) -> Result<(), Failure> {
    let ballast = dir.join("ballast");
    fs::write(&ballast, vec![1; 1 << 20])?;
    let data = dir.join("data");
    let (mut server, _) = Server::start(binary, &data)?;
    let mut connection = server.connect().await?;
    let mut acknowledged = Acknowledged::new();
    let refused = loop {
        let name = format!("fill-{}", acknowledged.len());
        match create(&mut connection, &name).await? {
            (StatusCode::CREATED, object) => drop(acknowledged.insert(name, version(&object))),
            (code, status) => break (name, code, status["message"].as_str().unwrap_or_default().to_owned()),
        }
    };
    let (name, code, message) = refused;
    let expected = format!("cannot write to the data directory {}: No space left on device", data.display());
    expect(
        code == StatusCode::INTERNAL_SERVER_ERROR && message.contains(&expected),
        &format!("{code}: {message}"),
    )?;
    let (code, _) = send(&mut connection, "GET", &format!("{CONFIG_MAPS}/{name}"), "").await?;
    expect(code == StatusCode::NOT_FOUND, "the refused write has no effect")?;
    let (code, _) = send(&mut connection, "GET", "/readyz", "").await?;
    expect(code == StatusCode::INTERNAL_SERVER_ERROR, "/readyz is red on a full disk")?;
    server.kill()?;
    let (mut server, _) = Server::start(binary, &data)?;
    check(&server, &acknowledged).await?;

    let mut connection = server.connect().await?;
    while create(&mut connection, "probe").await?.0 == StatusCode::CREATED {
        send(&mut connection, "DELETE", &format!("{CONFIG_MAPS}/probe"), "").await?;
    }
    fs::remove_file(&ballast)?;
    let (code, _) = send(&mut connection, "GET", "/readyz", "").await?;
    expect(code == StatusCode::OK, "/readyz is green once there is space")?;
    let (code, object) = create(&mut connection, "after").await?;
    expect(code == StatusCode::CREATED, "writes succeed once there is space")?;
    acknowledged.insert("after".into(), version(&object));
    server.kill()?;
    let (mut server, _) = Server::start(binary, &data)?;
    check(&server, &acknowledged).await?;
    server.kill()?;
    println!("{} acknowledged writes on a full disk, nothing lost", acknowledged.len());
    Ok(())
}

/// Creates objects at all connections, `each` per connection or until the server is killed. Returns what it acknowledged.
async fn write(connections: Vec<Connection>, prefix: &str, each: usize) -> Result<Acknowledged, Failure> {
    let mut writers = JoinSet::new();
    for (writer, mut connection) in connections.into_iter().enumerate() {
        let prefix = format!("{prefix}-{writer}");
        writers.spawn(async move {
            let mut acknowledged = Acknowledged::new();
            for i in 0..each {
                let name = format!("{prefix}-{i}");
                match create(&mut connection, &name).await {
                    Ok((StatusCode::CREATED, object)) => drop(acknowledged.insert(name, version(&object))),
                    Ok((code, body)) => return Err(format!("{code}: {body}")),
                    Err(_) => break,
                }
            }
            Ok(acknowledged)
        });
    }
    let mut all = Acknowledged::new();
    for written in writers.join_all().await {
        all.extend(written?);
    }
    Ok(all)
}

/// Every acknowledged object exists in the version that was acknowledged.
async fn check(server: &Server, acknowledged: &Acknowledged) -> Result<(), Failure> {
    let (_, list) = send(&mut server.connect().await?, "GET", CONFIG_MAPS, "").await?;
    let items = list["items"].as_array().ok_or("no items")?;
    let found: BTreeMap<&str, String> =
        items.iter().filter_map(|item| Some((item["metadata"]["name"].as_str()?, version(item)))).collect();
    let lost = acknowledged.iter().filter(|(name, version)| found.get(name.as_str()) != Some(version));
    let lost: Vec<_> = lost.map(|(name, _)| name.as_str()).collect();
    expect(lost.is_empty(), &format!("{} of {} writes are lost: {lost:?}", lost.len(), acknowledged.len()))
}

fn version(object: &Value) -> String {
    object["metadata"]["resourceVersion"].as_str().unwrap_or_default().to_owned()
}

fn expect(condition: bool, what: &str) -> Result<(), Failure> {
    if condition { Ok(()) } else { Err(format!("not as expected: {what}").into()) }
}

async fn create(connection: &mut Connection, name: &str) -> Result<(StatusCode, Value), Failure> {
    let object = format!(r#"{{"metadata":{{"name":"{name}"}},"data":{{"text":"{}"}}}}"#, "x".repeat(1000));
    send(connection, "POST", CONFIG_MAPS, &object).await
}

async fn send(
    connection: &mut Connection,
    method: &str,
    path: &str,
    body: &str,
) -> Result<(StatusCode, Value), Failure> {
    let request = http::Request::builder().method(method).uri(format!("http://server{path}"));
    let request = request.header("content-type", "application/json");
    let response = connection.send_request(request.body(Full::new(body.to_owned().into()))?).await?;
    let code = response.status();
    let bytes = response.into_body().collect().await?.to_bytes();
    Ok((code, serde_json::from_slice(&bytes).unwrap_or_default()))
}

/// A process of the standalone server.
struct Server {
    process: Child,
    address: String,
}

impl Server {
    /// Returns when the server is ready, with the time that took.
    fn start(binary: &Path, dir: &Path) -> Result<(Self, Duration), Failure> {
        let began = Instant::now();
        let mut command = Command::new(binary);
        // The kubeconfig is not on the disk that is filled.
        let kubeconfig = std::env::temp_dir().join(format!("durability-{}.kubeconfig", std::process::id()));
        command.args(["--port", "0", "--data"]).arg(dir).arg("--kubeconfig").arg(&kubeconfig);
        let mut process =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let mut ready = String::new();
        BufReader::new(process.stdout.take().ok_or("no output")?).read_line(&mut ready)?;
        let text = fs::read_to_string(ready.trim_end())?;
        let address = text.lines().find_map(|line| line.trim().strip_prefix("server: http://"));
        let address = address.ok_or("the kubeconfig names no server")?.to_owned();
        fs::remove_file(&kubeconfig)?;
        Ok((Self { process, address }, began.elapsed()))
    }

    async fn connect(&self) -> Result<Connection, Failure> {
        let tcp = tokio::net::TcpStream::connect(&self.address).await?;
        // The head and the body of a request are two writes.
        tcp.set_nodelay(true)?;
        let (send, connection) =
            hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(tcp)).await?;
        tokio::spawn(connection);
        Ok(send)
    }

    /// One connection per writer.
    async fn connections(&self) -> Result<Vec<Connection>, Failure> {
        let mut connections = Vec::new();
        for _ in 0..WRITERS {
            connections.push(self.connect().await?);
        }
        Ok(connections)
    }

    /// Kills the process with SIGKILL.
    fn kill(&mut self) -> Result<(), Failure> {
        self.process.kill()?;
        self.process.wait()?;
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // An error if it has already ended.
        drop(self.process.kill());
    }
}
