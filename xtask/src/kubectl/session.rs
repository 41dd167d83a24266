//! A standalone test server for the time of a job, and `kubectl` as its client.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};

use super::script::{self, Step, Variables};
use crate::command::{Background, Command, Output, pause};
use crate::context::Context;
use crate::pattern::lines;

/// A running test server.
pub(crate) struct Server {
    pub(crate) kubeconfig: PathBuf,
    _process: Background,
}

impl Server {
    /// Starts the program with these arguments; its files are in `folder`, named after the server.
    pub(crate) fn start(
        cx: &Context,
        program: &Path,
        folder: &Path,
        name: &str,
        args: &[&str],
    ) -> Result<Self> {
        let file = |ending: &str| folder.join(format!("{name}{ending}"));
        let (kubeconfig, started, log) = (file(".kubeconfig"), file(".started"), file(".log"));
        let command = cx.command(program).args(["--port", "0", "--kubeconfig"]).arg(&kubeconfig).args(args);
        let process = command.spawn(&started, &log)?;
        let end = Instant::now() + Duration::from_secs(30);
        while std::fs::metadata(&started).map_or(0, |metadata| metadata.len()) == 0 {
            if process.has_ended() || Instant::now() > end {
                bail!("the test server did not start: {}", std::fs::read_to_string(&log)?);
            }
            pause(Duration::from_millis(20))?;
        }
        Ok(Self { kubeconfig, _process: process })
    }
}

/// `kubectl` with a kubeconfig, run in a folder with the objects of a list.
pub(super) struct Session {
    command: Command,
    folder: PathBuf,
    variables: Variables,
    watch: Option<Background>,
    pub(super) checks: usize,
}

impl Session {
    pub(super) fn new(cx: &Context, kubeconfig: &Path, folder: &Path) -> Result<Self> {
        std::fs::create_dir_all(folder)?;
        // A cache of its own: kubectl would reuse the discovery of an earlier server on the same port.
        let command = cx.command("kubectl").dir(folder).limit(Duration::from_secs(60));
        let command = command.env("KUBECONFIG", kubeconfig).env("KUBECACHEDIR", folder.join("cache"));
        Ok(Self { command, folder: folder.into(), variables: Variables::new(), watch: None, checks: 0 })
    }

    pub(super) fn kubectl(&self) -> Command {
        self.command.clone()
    }

    /// Runs a list and checks every command of it.
    pub(super) fn run(&mut self, list: &str) -> Result<()> {
        for step in script::parse(list)? {
            self.step(&step).with_context(|| format!("line {}", step.line))?;
        }
        Ok(())
    }

    fn step(&mut self, step: &Step) -> Result<()> {
        let words = step.words(&self.variables)?;
        let words: Vec<_> = words.iter().map(String::as_str).collect();
        self.checks += 1;
        match *words.as_slice() {
            ["ok", pattern, ref args @ ..] => self.check(args, pattern, "", |code| code == 0),
            ["stdin", text, pattern, ref args @ ..] => self.check(args, pattern, text, |code| code == 0),
            ["refused", pattern, ref args @ ..] => self.check(args, pattern, "", |code| code != 0),
            ["exits", wanted, pattern, ref args @ ..] => {
                let wanted: i32 = wanted.parse()?;
                self.check(args, pattern, "", |code| code == wanted)
            }
            ["echoes", bytes, ref args @ ..] => self.echoes(args, bytes.parse()?),
            ["watching", ref args @ ..] => {
                let output = self.folder.join("watch");
                self.watch = Some(self.kubectl().args(args).spawn(&output, &output)?);
                Ok(())
            }
            ["seen", pattern] => self.seen(pattern),
            ["watched", pattern] => {
                self.seen(pattern)?;
                self.watch = None;
                Ok(())
            }
            ["env", name, value] => {
                self.checks -= 1;
                self.command = self.kubectl().env(name, value);
                Ok(())
            }
            ["let", name, ref args @ ..] => {
                self.checks -= 1;
                let value = self.kubectl().args(args).read()?;
                self.variables.insert(name.into(), value);
                Ok(())
            }
            _ => bail!("unknown verb or too few words: {}", words.join(" ")),
        }
    }

    fn check(&self, args: &[&str], pattern: &str, stdin: &str, wanted: impl Fn(i32) -> bool) -> Result<()> {
        let output = self.kubectl().args(args).stdin(stdin).output()?;
        let shown = || format!("kubectl {}\n--- output:\n{}", args.join(" "), output.text());
        ensure!(wanted(output.code), "exit code {}: {}", output.code, shown());
        ensure!(lines(pattern)?.is_match(&output.text()), "expected /{pattern}/: {}", shown());
        Ok(())
    }

    fn echoes(&self, args: &[&str], bytes: usize) -> Result<()> {
        let sent = random_bytes(bytes);
        let Output { bytes: received, code } = self.kubectl().args(args).stdin(sent.clone()).output()?;
        let shown = args.join(" ");
        ensure!(
            code == 0 && received == sent,
            "kubectl {shown}: {bytes} bytes came back changed, exit code {code}"
        );
        Ok(())
    }

    fn seen(&self, pattern: &str) -> Result<()> {
        let pattern = lines(pattern)?;
        let end = Instant::now() + Duration::from_secs(30);
        loop {
            let output = std::fs::read_to_string(self.folder.join("watch")).unwrap_or_default();
            if pattern.is_match(&output) {
                return Ok(());
            }
            ensure!(Instant::now() < end, "the watch never printed /{pattern}/: {output}");
            pause(Duration::from_millis(50))?;
        }
    }
}

/// Bytes that no compression shortens and that contain every value; the same in every run (xorshift).
fn random_bytes(count: usize) -> Vec<u8> {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[3]
    };
    std::iter::repeat_with(next).take(count).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_bytes_have_every_value() {
        let bytes = random_bytes(10_000);
        assert_eq!(bytes.iter().collect::<std::collections::BTreeSet<_>>().len(), 256);
    }
}
