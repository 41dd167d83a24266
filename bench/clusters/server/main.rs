//! A hub and member clusters on ports of loopback, as servers of this process: `server MEMBERS OBJECTS FILE` writes a kubeconfig with a
//! context for each to the file, prints `ready`, and runs until it is killed.

use kube_testserver::{ApiServer, TestFleet};
use serde_json::{Value, json};

const DATA_BYTES: usize = 2_048;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [members, objects, file] = &args[..] else { return Err("expected MEMBERS OBJECTS FILE".into()) };
    let fleet = TestFleet::new(["hub"]);
    for member in 0..members.parse()? {
        let maps: Vec<Value> = (0..objects.parse()?).map(|number| map(member, number)).collect();
        // Each cluster is another one: its uids come from its seed.
        let server = ApiServer::builder().seed(member + 1).with_objects(maps).service()?;
        fleet.insert(format!("member-{member:03}"), server);
    }
    let served = fleet.serve().await?;
    std::fs::write(file, served.kubeconfig())?;
    println!("ready");
    std::future::pending().await
}

/// A ConfigMap whose text is not that of another one.
fn map(member: u64, number: u64) -> Value {
    let mut random = fastrand::Rng::with_seed(member << 32 | number);
    let text: String = std::iter::repeat_with(|| random.alphanumeric()).take(DATA_BYTES).collect();
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": { "name": format!("map-{number}"), "labels": { "app": "shop", "number": number.to_string() } },
        "data": { "text": text },
    })
}
