//! What `exec` runs without a script: enough of a shell over in-memory files for demonstrations and `kubectl cp`.

mod command;
mod files;

use futures::FutureExt;
use serde_json::Value;
use tokio::io::AsyncReadExt;

use self::files::FileSystems;
use super::{Container, ContainerState, Exit, Process, Streams, logs::ContainerLogs};

/// The shell of all containers, with their files. Clones share the files.
#[derive(Clone, Debug, Default)]
pub(super) struct Shell(FileSystems);

impl Shell {
    /// Runs the command of `exec`.
    pub(super) async fn run(self, process: Process) -> Exit {
        command::run(process, self.0).await
    }

    /// Runs the command of a container. It has terminated if the shell knows the command and it completes without waiting, else it runs on.
    pub(super) fn run_to_completion(
        &self,
        id: &Container,
        container: &Value,
        logs: &ContainerLogs,
    ) -> ContainerState {
        let words = |field: &str| container[field].as_array().into_iter().flatten();
        let command: Vec<String> =
            words("command").chain(words("args")).filter_map(|word| word.as_str().map(Into::into)).collect();
        let waits = command.iter().any(|word| word.contains("sleep"));
        if waits || !command.first().is_some_and(|program| command::is_known(program)) {
            return ContainerState::Running;
        }
        let (process, streams) = Process::new(id.clone(), command, false);
        let Streams { stdin, mut stdout, mut stderr, .. } = streams;
        drop(stdin);
        let mut text = Vec::new();
        let printed = async {
            // Output before the end is all there is.
            drop(stdout.read_to_end(&mut text).await);
            drop(stderr.read_to_end(&mut text).await);
        };
        let ran = async { tokio::join!(self.clone().run(process), printed).0 };
        // One request may start many pods: a task that has done much must not look like one that waits.
        let exit = tokio::task::unconstrained(ran).now_or_never();
        logs.append(id, &String::from_utf8_lossy(&text));
        match exit {
            Some(Exit::Code(code)) => ContainerState::Terminated(code),
            Some(Exit::Failed(_)) => ContainerState::Terminated(127),
            None => ContainerState::Running,
        }
    }

    /// Removes the files of a pod.
    pub(super) fn forget(&self, namespace: &str, pod: &str) {
        self.0.forget(namespace, pod);
    }
}
