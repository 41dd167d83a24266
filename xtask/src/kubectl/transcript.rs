//! One run of a list of commands on one server: each command with what it printed, and what the list says about the other server.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

use super::normalize::normalize;
use super::script::{self, Variables};
use crate::command::{Background, Command, pause};
use crate::context::Context;
use crate::paths;
use crate::pattern::lines;

/// A command and its normalized output.
pub(super) struct Entry {
    pub(super) command: String,
    pub(super) output: String,
    pub(super) expected: Expected,
}

/// How the outputs of both servers are related.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Expected {
    Same,
    /// Same after sed has changed the genuine output; `maybe`: or without.
    But {
        reason: String,
        sed: String,
        maybe: bool,
    },
    Differs {
        reason: String,
    },
}

pub(super) struct Recorder<'a> {
    cx: &'a Context,
    kubectl: Command,
    folder: &'a Path,
    namespace: &'a str,
    variables: Variables,
    watch: Option<(Background, String)>,
    pub(super) entries: Vec<Entry>,
}

impl<'a> Recorder<'a> {
    /// `folder` receives the objects of the lists.
    pub(super) fn new(
        cx: &'a Context,
        kubeconfig: &Path,
        folder: &'a Path,
        namespace: &'a str,
    ) -> Result<Self> {
        let objects = folder.join("objects");
        std::fs::create_dir_all(&objects)?;
        for object in std::fs::read_dir(cx.path(paths::COMMANDS).join("objects"))? {
            let object = object?;
            let text = in_namespace(&std::fs::read_to_string(object.path())?, namespace);
            std::fs::write(objects.join(object.file_name()), text)?;
        }
        let kubectl = cx.command("kubectl").dir(objects).limit(Duration::from_secs(30));
        let kubectl = kubectl.env("KUBECONFIG", kubeconfig).env("KUBECACHEDIR", folder.join("cache"));
        let kubectl = kubectl.args(["-n", namespace]);
        let variables = Variables::from([("NS".to_owned(), namespace.to_owned())]);
        Ok(Self { cx, kubectl, folder, namespace, variables, watch: None, entries: Vec::new() })
    }

    /// Runs a list.
    pub(super) fn run(&mut self, list: &str) -> Result<()> {
        for step in script::parse(&self.cx.read(format!("{}/{list}.commands", paths::COMMANDS))?)? {
            let words = step.words(&self.variables)?;
            let words: Vec<_> = words.iter().map(String::as_str).collect();
            self.step(&words).with_context(|| format!("{list}.commands, line {}", step.line))?;
        }
        Ok(())
    }

    fn step(&mut self, words: &[&str]) -> Result<()> {
        match *words {
            ["group", ..] => {}
            ["set", name, value] => drop(self.variables.insert(name.into(), value.into())),
            ["same", ref args @ ..] => self.record(args, Expected::Same)?,
            ["unordered", ref args @ ..] => {
                self.record(args, Expected::Same)?;
                if let Some(entry) = self.entries.last_mut() {
                    let mut lines: Vec<_> = entry.output.lines().collect();
                    lines.sort_unstable();
                    entry.output = lines.join("\n");
                }
            }
            [verb @ ("but" | "maybe"), reason, sed, ref args @ ..] => {
                let maybe = verb == "maybe";
                self.record(args, Expected::But { reason: reason.into(), sed: sed.into(), maybe })?;
            }
            ["differs", reason, ref args @ ..] => {
                self.record(args, Expected::Differs { reason: reason.into() })?
            }
            ["edited", sed, ref args @ ..] => {
                self.kubectl = self.kubectl.clone().env("KUBE_EDITOR", format!("sed -i '{sed}'"));
                self.record(args, Expected::Same)?;
            }
            ["kinds", ref kinds @ ..] => {
                for kind in kinds {
                    self.record(&["get", kind], Expected::Same)?;
                    self.record(&["get", kind, "-o", "wide"], Expected::Same)?;
                    self.record(&["describe", "--show-events=false", kind], Expected::Same)?;
                }
            }
            ["until", pattern, ref args @ ..] => self.until(pattern, args)?,
            ["watching", ref args @ ..] => self.start_watch(args)?,
            ["watched", pattern] => self.end_watch(pattern)?,
            _ => bail!("unknown verb or too few words: {}", words.join(" ")),
        }
        Ok(())
    }

    fn capture(&self, args: &[&str]) -> Result<String> {
        let output = self.kubectl.clone().args(args).output()?;
        let text = output.text();
        Ok(if output.code == 0 { text } else { format!("{text}exit {}\n", output.code) })
    }

    fn record(&mut self, args: &[&str], expected: Expected) -> Result<()> {
        let output = self.capture(args)?;
        self.add(args.join(" "), &output, expected);
        Ok(())
    }

    fn add(&mut self, args: String, output: &str, expected: Expected) {
        let command = format!("kubectl {}", args.replace(self.namespace, "NS"));
        self.entries.push(Entry { command, output: normalize(output, self.namespace), expected });
    }

    /// Not an error: the commands that follow show what is missing.
    fn until(&self, pattern: &str, args: &[&str]) -> Result<()> {
        let wanted = lines(pattern)?;
        for _ in 0..80 {
            if wanted.is_match(&self.capture(args)?) {
                return Ok(());
            }
            pause(Duration::from_millis(200))?;
        }
        println!("{}: kubectl {} never printed /{pattern}/", self.folder.display(), args.join(" "));
        Ok(())
    }

    fn start_watch(&mut self, args: &[&str]) -> Result<()> {
        let output = self.folder.join("watched");
        let watch = self.kubectl.clone().args(args).spawn(&output, &output)?;
        self.watch = Some((watch, args.join(" ")));
        // A watch that starts after the change would report it as initial state.
        pause(Duration::from_millis(1500))
    }

    fn end_watch(&mut self, pattern: &str) -> Result<()> {
        let wanted = lines(pattern)?;
        let read = || std::fs::read_to_string(self.folder.join("watched")).unwrap_or_default();
        for _ in 0..50 {
            if wanted.is_match(&read()) {
                break;
            }
            pause(Duration::from_millis(100))?;
        }
        let Some((watch, command)) = self.watch.take() else { bail!("`watched` without `watching`") };
        drop(watch);
        self.add(command, &read(), Expected::Same);
        Ok(())
    }
}

/// The text with the word `NS` replaced by the namespace of the run.
pub(super) fn in_namespace(text: &str, namespace: &str) -> String {
    crate::pattern::regex(r"\bNS\b").replace_all(text, namespace).into_owned()
}

#[cfg(test)]
mod tests {
    #[test]
    fn only_the_word_is_the_namespace() {
        assert_eq!(
            super::in_namespace("name: NS\nport: DNS NS-made", "team"),
            "name: team\nport: DNS team-made"
        );
    }
}
