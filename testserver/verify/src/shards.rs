//! Shares the plans between processes: statics of the operator's code would be shared by threads.

use std::{
    env, fs,
    path::PathBuf,
    process::{Child, Command, Stdio},
    thread,
};

use crate::report::Report;

/// Starts this test again in so many processes, each with a part of the plans, and puts their reports together.
pub(crate) fn explore(jobs: usize) -> Result<Report, String> {
    let folder = env::temp_dir().join(format!("kube-verify-{}", std::process::id()));
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let started: Result<Vec<_>, String> = (1..=jobs).map(|part| start(part, jobs, folder.clone())).collect();
    let report = started.and_then(collect);
    // What is left is in the folder of temporary files.
    drop(fs::remove_dir_all(&folder));
    report
}

/// A process with its report and what it prints.
struct Shard {
    process: Child,
    json: PathBuf,
    log: PathBuf,
}

fn start(part: usize, of: usize, folder: PathBuf) -> Result<Shard, String> {
    let (json, log) = (folder.join(format!("{part}.json")), folder.join(format!("{part}.log")));
    let program = env::current_exe().map_err(|error| error.to_string())?;
    let output = fs::File::create(&log).map_err(|error| format!("{}: {error}", log.display()))?;
    let mut command = Command::new(program);
    // Tests run on threads of their names; with one thread for all tests, this process was started for this one.
    match thread::current().name().filter(|name| *name != "main") {
        Some(test) => command.args([test, "--exact", "--nocapture"]),
        None => command.args(env::args().skip(1)),
    };
    let process = command
        .env_remove("KUBE_VERIFY_JOBS")
        .env_remove("KUBE_VERIFY_REPORTS")
        .env("KUBE_VERIFY_SHARD", format!("{part}/{of}"))
        .env("KUBE_VERIFY_JSON", &json)
        .stdin(Stdio::null())
        .stdout(output)
        .spawn();
    Ok(Shard { process: process.map_err(|error| error.to_string())?, json, log })
}

/// Waits for all. A process that wrote no report has failed in another way.
fn collect(shards: Vec<Shard>) -> Result<Report, String> {
    let mut whole: Option<Report> = None;
    for mut shard in shards {
        let status = shard.process.wait().map_err(|error| error.to_string())?;
        let text = fs::read_to_string(&shard.json).map_err(|_| {
            let log = fs::read_to_string(&shard.log).unwrap_or_default();
            format!("a process of the verification ended without a report ({status}):\n{log}")
        })?;
        let report = Report::from_json(&text).map_err(|error| error.to_string())?;
        match &mut whole {
            Some(whole) => whole.merge(report),
            None => whole = Some(report),
        }
    }
    let mut whole = whole.ok_or("there are no processes")?;
    whole.is_whole = whole.left_out + whole.not_chosen == 0;
    Ok(whole)
}
