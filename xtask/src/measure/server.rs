//! The jobs `cost` and `testserver-data`: processor time and memory of the test server, and its data directory under load.

use anyhow::{Result, bail};

use crate::context::{Context, scratch};
use crate::job::no_arguments;
use crate::skip::skip;

/// Start-up, creates and watchers in a debug build; three times the recorded values fail. Processor time, because times of day depend on
/// what else the machine does. For the release figures: `cargo run --release -p kube-testserver --example measure`.
pub(crate) fn cost(cx: &Context, args: &[String]) -> Result<()> {
    no_arguments(args)?;
    let measure = cx.build("--example", "measure")?;
    cx.command(measure).run()
}

/// A release build with many objects, killed under load, and with a full disk.
pub(crate) fn data(cx: &Context, args: &[String]) -> Result<()> {
    let (objects, kills) = match args {
        [] => ("100000", "20"),
        [objects, kills] => (objects.as_str(), kills.as_str()),
        _ => bail!("expected OBJECTS KILLS"),
    };
    cx.cargo(
        "build --quiet --locked --release -p kube-testserver --bin kube-testserver --example durability",
    )
    .run()?;
    let release = cx.target.join("release");
    let durability = |what: &str| {
        cx.command(release.join("examples/durability")).arg(what).arg(release.join("kube-testserver"))
    };
    let work = scratch()?;
    durability("kill").arg(work.path().join("data")).args([objects, kills]).run()?;
    let small = work.path().join("small");
    std::fs::create_dir(&small)?;
    if !cx.command("mount").args(["-t", "tmpfs", "-o", "size=4m", "tmpfs"]).arg(&small).succeeds() {
        return skip("mounting a small file system needs root");
    }
    let result = durability("full").arg(&small).run();
    cx.command("umount").arg(&small).cleans_up().run()?;
    result
}
