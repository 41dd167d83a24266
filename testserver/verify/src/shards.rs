//! Shares the plans between processes: statics of the operator's code would be shared by threads.

use std::{
    env,
    fs::{self, File},
    io::{self, BufRead, BufReader, Read, Write},
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::{
        atomic::{AtomicUsize, Ordering},
        mpsc::{Receiver, Sender, channel},
    },
    thread,
    time::Duration,
};

use crate::report::Report;

/// How long the end of a log is waited for, once its process has ended.
const READS: Duration = Duration::from_secs(2);

/// Starts this test again in so many processes, each with a part of the plans, and puts their reports together.
pub(crate) fn explore(jobs: usize) -> Result<Report, String> {
    let folder = new_folder()?;
    let started: Vec<_> = (1..=jobs).map(|part| start(part, jobs, folder.clone())).collect();
    let report = Ok(collect(started));
    // What is left is in the folder of temporary files.
    drop(fs::remove_dir_all(&folder));
    report
}

/// An empty folder of its own: several verifications may be in this process, and an earlier one of the same id may have left its reports.
fn new_folder() -> Result<PathBuf, String> {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let folder = env::temp_dir().join(format!("kube-verify-{}-{count}", std::process::id()));
    let removed = match fs::remove_dir_all(&folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => fs::create_dir_all(&folder),
    };
    removed.map(|()| folder.clone()).map_err(|error| format!("{}: {error}", folder.display()))
}

/// A process with its report and what it prints.
struct Shard {
    process: Child,
    json: PathBuf,
    log: PathBuf,
    /// Nothing is sent: the other side is gone when all is read.
    errors: Receiver<()>,
}

fn start(part: usize, of: usize, folder: PathBuf) -> Result<Shard, String> {
    let (json, log) = (folder.join(format!("{part}.json")), folder.join(format!("{part}.log")));
    let program = env::current_exe().map_err(|error| error.to_string())?;
    let at_log = |error: io::Error| format!("{}: {error}", log.display());
    let output = File::create(&log).map_err(at_log)?;
    let errors = output.try_clone().map_err(at_log)?;
    let mut command = Command::new(program);
    // Tests run on threads of their names; with one thread for all tests, this process was started for this one.
    match thread::current().name().filter(|name| *name != "main") {
        Some(test) => command.args([test, "--exact", "--include-ignored", "--nocapture"]),
        None => command.args(env::args().skip(1)),
    };
    let process = command
        .env_remove("KUBE_VERIFY_JOBS")
        .env_remove("KUBE_VERIFY_REPORTS")
        .env("KUBE_VERIFY_SHARD", format!("{part}/{of}"))
        .env("KUBE_VERIFY_JSON", &json)
        .stdin(Stdio::null())
        .stdout(output)
        .stderr(Stdio::piped())
        .spawn();
    let mut process = process.map_err(|error| error.to_string())?;
    let told = process.stderr.take().ok_or("a process without its standard error")?;
    let (reading, read) = channel();
    thread::spawn(move || {
        let _reading: Sender<()> = reading;
        pass_on(told, errors);
    });
    Ok(Shard { process, json, log, errors: read })
}

/// Passes on what a process tells on its standard error at once, and keeps it in its log.
fn pass_on(told: impl Read, mut log: impl Write) {
    let (mut told, mut line) = (BufReader::new(told), Vec::new());
    while told.read_until(b'\n', &mut line).is_ok_and(|length| length > 0) {
        // A terminal that is gone or a full disk does not end the verification.
        drop(io::stderr().write_all(&line));
        drop(log.write_all(&line));
        line.clear();
    }
}

/// Waits for all. A process that wrote no report has failed in another way; what each of them says is told, beside what the others found.
fn collect(shards: Vec<Result<Shard, String>>) -> Report {
    let (mut whole, mut errors) = (None::<Report>, Vec::new());
    for (shard, part) in shards.into_iter().zip(1..) {
        match shard.and_then(Shard::report) {
            Ok(report) => match &mut whole {
                Some(whole) => whole.merge(report),
                None => whole = Some(report),
            },
            Err(error) => errors.push(format!("process {part} of the verification: {error}")),
        }
    }
    let mut whole = whole.unwrap_or_default();
    whole.broken.extend(errors);
    whole.is_whole = whole.is_undisturbed();
    whole
}

impl Shard {
    /// Waits for its end.
    fn report(mut self) -> Result<Report, String> {
        let status = self.process.wait().map_err(|error| error.to_string())?;
        // What it has told is in the log then, but for what a process that it has left behind still tells.
        let _ = self.errors.recv_timeout(READS);
        let text = fs::read_to_string(&self.json).map_err(|_| {
            let log = fs::read(&self.log).unwrap_or_default();
            let tried = fs::read_to_string(self.json.with_extension("plan"));
            // Most often `std::process::exit`, an allocation that is too large, or a stack that is too small.
            let tried =
                tried.map(|plan| format!(" while it tried {plan:?}: does the operator end its process?"));
            let tried = tried.unwrap_or_default();
            format!("it ended without a report ({status}){tried}:\n{}", String::from_utf8_lossy(&log).trim())
        })?;
        Report::from_json(&text).map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::{
        finding::{Finding, Oracle},
        options::Options,
    };

    #[test]
    fn verifications_at_once_have_reports_of_their_own() {
        if let Ok(part) = env::var("KUBE_VERIFY_SHARD") {
            panic!("the other is {part}");
        }
        let of = |test: &str| {
            let name = format!("shards::tests::{test}");
            thread::Builder::new()
                .name(name)
                .spawn(|| explore(2).expect("a report").broken.join("\n"))
                .expect("a thread")
        };
        let both = [
            ("this", of("what_each_process_says_is_told")),
            ("the other", of("verifications_at_once_have_reports_of_their_own")),
        ];
        for (which, thread) in both {
            let error = thread.join().expect("no panic");
            let told = [1, 2].map(|part| error.matches(&format!("{which} is {part}/2")).count());
            assert_eq!(told, [1, 1], "{which}: {error}");
        }
    }

    #[test]
    fn what_one_process_has_found_is_told_beside_the_failure_of_another() {
        match env::var("KUBE_VERIFY_SHARD").as_deref() {
            Ok("1/2") => panic!("of the test"),
            Ok(_) => {
                let finding = Finding::new(Oracle::Workload, "of the other");
                let report = Report { reference: vec![finding], tried: 7, ..Report::default() };
                fs::write(env::var("KUBE_VERIFY_JSON").expect("a path"), report.to_json().to_string())
                    .expect("a file");
                return;
            }
            Err(_) => {}
        }
        let report = explore(2).expect("a report");
        assert!(!report.is_ok() && !report.is_whole, "{report}");
        let text = report.to_string();
        let begin = "FAILED process 1 of the verification: it ended without a report (exit status: 101)";
        assert!(text.starts_with(begin) && text.contains("of the test"), "{text}");
        assert!(text.contains("FOUND without any fault: [workload] of the other"), "{text}");
        assert!(
            text.contains("7 plans tried in ")
                && text.ends_with("1 cause found, and 1 part of the verification failed"),
            "{text}"
        );
    }

    #[test]
    fn the_plan_in_which_an_operator_ends_its_process_is_named() {
        if env::var_os("KUBE_VERIFY_SHARD").is_some() {
            Options::from_env().expect("options").note_plan(&"restart after step 1".parse().expect("a plan"));
            std::process::exit(3);
        }
        let report = explore(1).expect("a report");
        let expected = "it ended without a report (exit status: 3) while it tried \"restart after step 1\": does the operator end";
        assert!(report.broken[0].contains(expected), "{report}");
    }

    #[test]
    fn a_process_that_a_part_has_left_behind_is_not_waited_for() {
        if env::var_os("KUBE_VERIFY_SHARD").is_some() {
            // With this standard error.
            let leaves = "sleep 60 > /dev/null & echo left $! >&2";
            let left = Command::new("sh").args(["-c", leaves]).status().expect("a shell");
            panic!("of the test: {left}");
        }
        let begun = Instant::now();
        let report = explore(1).expect("a report");
        let left = report.broken[0]
            .split("left ")
            .nth(1)
            .and_then(|rest| rest.split_whitespace().next())
            .expect("an id");
        let ended = Command::new("kill").arg(left).status().expect("kill");
        assert!(begun.elapsed() < Duration::from_secs(40) && ended.success(), "{report}");
    }

    #[test]
    fn what_each_process_says_is_told() {
        if let Ok(part) = env::var("KUBE_VERIFY_SHARD") {
            panic!("this is {part}");
        }
        let error = explore(2).expect("a report").broken.join("\n");
        for part in ["1", "2"] {
            let begin =
                format!("process {part} of the verification: it ended without a report (exit status: 101)");
            assert!(error.contains(&begin) && error.contains(&format!("this is {part}/2")), "{error}");
        }
    }
}
