//! Without the feature `shell`, containers have no executable that a script of the test does not provide.

use serde_json::Value;

use super::{Container, ContainerState, Exit, Process, logs::ContainerLogs};

#[derive(Clone, Debug, Default)]
pub(super) struct Shell(());

impl Shell {
    pub(super) async fn run(self, process: Process) -> Exit {
        Exit::no_executable(process.command.first().map_or("", String::as_str))
    }

    /// Every container runs on.
    pub(super) fn run_to_completion(&self, _: &Container, _: &Value, _: &ContainerLogs) -> ContainerState {
        ContainerState::Running
    }

    pub(super) fn forget(&self, _: &str, _: &str) {}
}
