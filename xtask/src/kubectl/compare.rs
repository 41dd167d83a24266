//! The job `kubectl-compare`: the same commands on the embedded server and on a genuine one print the same, or differ as documented.

use std::path::Path;

use anyhow::{Result, anyhow, bail};
use similar::TextDiff;

use super::session::Server;
use super::transcript::{Entry, Expected, Recorder, in_namespace};
use crate::command::Command;
use crate::context::{Context, scratch};
use crate::genuine;
use crate::job::choices;
use crate::paths;

const ARGS: [&str; 4] = ["--tls", "--rbac", "--service-accounts", "--without-kubelet"];

/// The list, and the genuine server.
const LIST: &str = "compare";
const GENUINE: &str = "v1.37";

/// `-v` prints every output.
pub(crate) fn compare(cx: &Context, args: &[String]) -> Result<()> {
    let verbose = !choices(args, &["-v"], &[])?.is_empty();
    cx.require(&["kubectl"])?;
    genuine::program(cx)?;
    let program = cx.build("--bin", "kube-testserver")?;
    let work = scratch()?;
    let embedded = Server::start(cx, &program, work.path(), "embedded", &ARGS)?;
    let namespace = format!("kubectl-compare-{}", std::process::id());
    let server = genuine::Server::up(cx, GENUINE)?;
    let run = |name: &str, kubeconfig: &Path| -> Result<Vec<Entry>> {
        let folder = work.path().join(name);
        let mut recorder = Recorder::new(cx, kubeconfig, &folder, &namespace)?;
        recorder.run(LIST)?;
        Ok(recorder.entries)
    };
    let (ours, theirs) = std::thread::scope(|scope| {
        let ours = scope.spawn(|| run("embedded-run", &embedded.kubeconfig));
        let theirs = run("genuine-run", &server.kubeconfig);
        (ours.join().unwrap_or_else(|_| Err(anyhow!("the run on the embedded server panicked"))), theirs)
    });
    if theirs.is_err() && !server.is_own() {
        delete_leftovers(cx, &server.kubeconfig, &namespace)?;
    }
    let mut result = Summary::default();
    result.compare(cx, &ours?, &theirs?, verbose)?;
    let Summary { same, explained, differing } = result;
    println!(
        "{same} commands print the same on both servers, {explained} differ for a documented reason, {differing} differ"
    );
    if differing > 0 {
        bail!("{differing} commands differ");
    }
    Ok(())
}

#[derive(Default)]
struct Summary {
    same: usize,
    explained: usize,
    differing: usize,
}

impl Summary {
    fn compare(&mut self, cx: &Context, ours: &[Entry], theirs: &[Entry], verbose: bool) -> Result<()> {
        for (our, their) in ours.iter().zip(theirs) {
            if our.command != their.command {
                bail!(
                    "the two runs executed different commands, first {} and {}",
                    our.command,
                    their.command
                );
            }
            if verbose {
                print!("--- {}\n{}", our.command, our.output);
            }
            let changed = match &our.expected {
                Expected::But { sed, .. } => change(cx, sed, &their.output)?,
                _ => their.output.clone(),
            };
            match judge(our, &their.output, &changed) {
                Verdict::Same => self.same += 1,
                Verdict::Explained => self.explained += 1,
                Verdict::NeedlessReason(reason) => {
                    self.differing += 1;
                    println!("--- {}: no longer differs, remove the reason: {reason}", our.command);
                }
                Verdict::Differs => {
                    self.differing += 1;
                    let diff = TextDiff::from_lines(&changed, &our.output);
                    println!("--- {} (- {GENUINE}, + embedded)", our.command);
                    print!("{}", diff.unified_diff().context_radius(2));
                }
            }
        }
        Ok(())
    }
}

#[derive(Debug, PartialEq)]
enum Verdict<'a> {
    Same,
    Explained,
    NeedlessReason(&'a str),
    Differs,
}

/// `changed` is the genuine output after the sed of the entry.
fn judge<'a>(ours: &'a Entry, genuine: &str, changed: &str) -> Verdict<'a> {
    let equal = ours.output == genuine;
    match &ours.expected {
        Expected::Same | Expected::But { maybe: true, .. } if equal => Verdict::Same,
        Expected::But { reason, .. } | Expected::Differs { reason } if equal => {
            Verdict::NeedlessReason(reason)
        }
        Expected::But { .. } if ours.output == changed => Verdict::Explained,
        Expected::Differs { .. } => Verdict::Explained,
        Expected::Same | Expected::But { .. } => Verdict::Differs,
    }
}

fn change(cx: &Context, sed: &str, output: &str) -> Result<String> {
    let command = cx.command("sed").args(["-E", sed]).stdin(output);
    let changed = command.output()?;
    if changed.code != 0 {
        bail!("sed -E '{sed}': {}", changed.text());
    }
    Ok(changed.text())
}

/// Deletes what an aborted list left on a server that was running before: the namespace of the run, the cluster-scoped objects named after
/// it, and the CRD.
fn delete_leftovers(cx: &Context, kubeconfig: &Path, namespace: &str) -> Result<()> {
    let delete = || -> Command {
        let kubectl = cx.command("kubectl").arg("--kubeconfig").arg(kubeconfig).cleans_up();
        kubectl.args(["delete", "--ignore-not-found", "--wait=false", "--request-timeout=10s"])
    };
    let objects = cx.read(format!("{}/objects/cluster.yaml", paths::COMMANDS))?;
    let made = format!("{namespace}-made");
    delete().args(["crd", "gauges.compare.example.com"]).succeeds();
    delete().args(["-f", "-"]).stdin(in_namespace(&objects, namespace)).succeeds();
    delete().args(["clusterrole,clusterrolebinding,priorityclass", &made]).succeeds();
    delete().args(["namespace", namespace]).succeeds();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(output: &str, expected: Expected) -> Entry {
        Entry { command: "kubectl get".into(), output: output.into(), expected }
    }

    fn but(maybe: bool) -> Expected {
        Expected::But { reason: "why".into(), sed: String::new(), maybe }
    }

    #[test]
    fn a_difference_needs_a_reason_and_a_reason_a_difference() {
        let differs = || Expected::Differs { reason: "why".into() };
        for (ours, genuine, changed, expected) in [
            (entry("a", Expected::Same), "a", "a", Verdict::Same),
            (entry("a", Expected::Same), "b", "b", Verdict::Differs),
            (entry("a", but(false)), "b", "a", Verdict::Explained),
            (entry("a", but(false)), "b", "c", Verdict::Differs),
            (entry("a", but(false)), "a", "c", Verdict::NeedlessReason("why")),
            (entry("a", but(true)), "a", "c", Verdict::Same),
            (entry("a", differs()), "b", "b", Verdict::Explained),
            (entry("a", differs()), "a", "a", Verdict::NeedlessReason("why")),
        ] {
            assert_eq!(judge(&ours, genuine, changed), expected, "{:?} {genuine} {changed}", ours.expected);
        }
    }
}
