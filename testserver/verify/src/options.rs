//! What `cargo kube verify` asks for, through the environment.

use std::{env, fs, path::PathBuf, thread, time::Duration};

use crate::{family::Families, finding::Finding, plan::Plan};

/// Options of a verification. Those of the command line win over those of the test.
#[derive(Clone, Debug, Default)]
pub(crate) struct Options {
    pub(crate) plan: Option<Plan>,
    pub(crate) families: Option<Families>,
    /// All plans, also if the test says `per_family`.
    pub(crate) all: bool,
    /// Also plans with a second fault, in what the operator does because of the first.
    pub(crate) is_deep: bool,
    /// Only prints the plans.
    pub(crate) list: bool,
    /// This part of the plans, of so many.
    pub(crate) shard: Option<(usize, usize)>,
    pub(crate) budget: Option<Duration>,
    /// Where the report is written as JSON.
    pub(crate) json: Option<PathBuf>,
    /// The folder in which each test leaves its report, as text and as JSON.
    pub(crate) reports: Option<PathBuf>,
    /// How many processes of their own share the plans; 0 if this process tries them.
    pub(crate) jobs: usize,
    /// Whether progress is told on standard error.
    pub(crate) progress: bool,
}

impl Options {
    /// Reads the variables `KUBE_VERIFY_*`.
    pub(crate) fn from_env() -> Result<Self, String> {
        Self::read(|name| env::var(format!("KUBE_VERIFY_{name}")).ok().filter(|value| !value.is_empty()))
    }

    fn read(variable: impl Fn(&str) -> Option<String>) -> Result<Self, String> {
        fn parsed<T>(
            name: &str,
            value: Option<String>,
            read: impl Fn(&str) -> Result<T, String>,
        ) -> Result<Option<T>, String> {
            let option = name.to_lowercase();
            let wrong = |why| format!("--{option} (the variable KUBE_VERIFY_{name}): {why}");
            value.map(|value| read(&value).map_err(wrong)).transpose()
        }
        Ok(Self {
            plan: parsed("PLAN", variable("PLAN"), |text| {
                text.parse().map_err(|error: crate::PlanError| error.to_string())
            })?,
            families: parsed("FAMILIES", variable("FAMILIES"), str::parse)?,
            all: variable("ALL").is_some(),
            is_deep: parsed("DEPTH", variable("DEPTH"), |text| match text {
                "1" => Ok(false),
                "2" => Ok(true),
                _ => Err(format!("expected 1 or 2 faults in a plan, not {text:?}")),
            })?
            .unwrap_or_default(),
            list: variable("LIST").is_some(),
            shard: parsed("SHARD", variable("SHARD"), shard)?,
            budget: parsed("BUDGET", variable("BUDGET"), |text| {
                let seconds = text.parse().ok().filter(|seconds| *seconds > 0);
                seconds.map(Duration::from_secs).ok_or_else(|| format!("expected seconds, not {text:?}"))
            })?,
            json: variable("JSON").map(PathBuf::from),
            reports: variable("REPORTS").map(PathBuf::from),
            jobs: parsed("JOBS", variable("JOBS"), jobs)?.unwrap_or_default(),
            progress: variable("PROGRESS").is_some(),
        })
    }
}

impl Options {
    /// Leaves a report where it was asked for. Tests run on threads of their names.
    pub(crate) fn leave(&self, extension: &str, text: &str) -> Result<(), String> {
        let write =
            |path: PathBuf| fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()));
        if let Some(path) = self.json.clone().filter(|_| extension == "json") {
            write(path)?;
        }
        let name = thread::current().name().unwrap_or("verify").replace("::", ".");
        self.reports.as_ref().map_or(Ok(()), |folder| write(folder.join(format!("{name}.{extension}"))))
    }

    /// Whether another process reads the report.
    pub(crate) fn is_left(&self) -> bool {
        self.json.is_some() || self.reports.is_some()
    }

    /// Tells what comes before the first plan: once for all processes.
    pub(crate) fn show_begin(&self, what: &str) {
        if self.tells_begin() {
            eprintln!("verify: {what}");
        }
    }

    fn tells_begin(&self) -> bool {
        self.progress && self.shard.is_none_or(|(part, _)| part == 1)
    }

    /// Keeps the plan that is tried next for who started this process, in case its operator ends it.
    pub(crate) fn note_plan(&self, plan: &Plan) {
        let path =
            self.json.as_ref().filter(|_| self.shard.is_some()).map(|json| json.with_extension("plan"));
        // It serves the text of an error only.
        drop(path.map(|path| fs::write(path, plan.to_string())));
    }

    /// Tells what was found, which nobody else would if the verification is ended.
    pub(crate) fn show_found(&self, finding: &Finding, plan: &Plan) {
        if self.progress {
            eprintln!("verify: found {finding} ({plan})");
        }
    }

    /// Tells how far the verification is.
    pub(crate) fn show_progress(&self, tried: usize, total: usize, failures: usize) {
        if self.progress {
            let part = self.shard.map(|(part, of)| format!(" (process {part} of {of})")).unwrap_or_default();
            eprintln!("verify{part}: {tried} of {total} plans, {failures} failed");
        }
    }
}

fn jobs(text: &str) -> Result<usize, String> {
    let count = text.parse().ok().filter(|count| (1..=256).contains(count));
    count.ok_or_else(|| format!("expected a number of processes from 1 to 256, not {text:?}"))
}

/// `2/4` is the second of four.
fn shard(text: &str) -> Result<(usize, usize), String> {
    let expected = || format!("expected a shard such as 2/4, not {text:?}");
    let (part, of) = text.split_once('/').ok_or_else(expected)?;
    let (part, of): (usize, usize) =
        (part.parse().map_err(|_| expected())?, of.parse().map_err(|_| expected())?);
    if part == 0 || part > of { Err(expected()) } else { Ok((part, of)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &'static str, value: &'static str) -> Result<Options, String> {
        Options::read(|asked| (asked == name).then(|| value.to_owned()))
    }

    #[test]
    fn one_process_tells_the_begin_for_all() {
        let with = |shard, progress| Options { shard, progress, ..Options::default() }.tells_begin();
        assert!(with(None, true) && with(Some((1, 2)), true));
        assert!(!with(Some((2, 2)), true) && !with(None, false));
    }

    #[test]
    fn each_option_is_read_and_a_wrong_one_is_named() {
        assert_eq!(read("SHARD", "2/4").unwrap().shard, Some((2, 4)));
        assert_eq!(read("BUDGET", "60").unwrap().budget, Some(Duration::from_secs(60)));
        assert!(read("LIST", "1").unwrap().list);
        assert!(read("DEPTH", "2").unwrap().is_deep && !read("DEPTH", "1").unwrap().is_deep);
        assert!(read("ALL", "1").unwrap().all && !read("LIST", "1").unwrap().all);
        assert_eq!(read("PLAN", "restart after step 1").unwrap().plan.unwrap().0.len(), 1);
        for (name, value) in [
            ("SHARD", "0/4"),
            ("SHARD", "5/4"),
            ("BUDGET", "1m"),
            ("BUDGET", "0"),
            ("JOBS", "0"),
            ("DEPTH", "3"),
            ("FAMILIES", "x"),
            ("PLAN", "x"),
        ] {
            let error = read(name, value).unwrap_err();
            assert!(error.contains(&format!(" (the variable KUBE_VERIFY_{name}): ")), "{error}");
        }
    }
}
