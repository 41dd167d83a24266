//! A child process in a process group of its own, so that a Ctrl-C in the terminal reaches it by this program only.

use std::io;
use std::process::{ExitStatus, Stdio};

use tokio::process::{Child, Command};

/// A running child process. Killed, with its own children, when it is dropped; after its end its children are killed.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    /// `None` once it has ended.
    group: Option<Group>,
    /// Ends the group when this process is gone.
    guard: Option<Child>,
}

/// Waits until the other end of its input is closed, which the operating system does however that process ended. Then it asks the group to
/// end, and kills what is left after 30 s: as long as the grace period of an operator.
#[cfg(unix)]
const GUARD: &str = "\
read -r _
kill -s TERM -- \"-$0\"
left=300
while [ $left -gt 0 ] && kill -s 0 -- \"-$0\"; do sleep 0.1; left=$((left - 1)); done
kill -s KILL -- \"-$0\"";

#[derive(Clone, Copy, Debug)]
struct Group {
    #[cfg(unix)]
    leader: rustix::process::Pid,
}

impl Process {
    /// Starts a program. It reads nothing.
    ///
    /// # Errors
    /// The program cannot be started.
    pub(crate) fn start(command: &mut Command) -> io::Result<Self> {
        command.stdin(Stdio::null()).kill_on_drop(true);
        #[cfg(unix)]
        command.process_group(0);
        let child = command.spawn()?;
        Ok(Self { group: Group::of(&child), child, guard: None })
    }

    /// It ends, with its own children, also when this process is killed by SIGKILL, which no code of its own notices.
    ///
    /// # Errors
    /// The shell that waits for that cannot be started.
    pub(crate) fn guarded(mut self) -> io::Result<Self> {
        #[cfg(unix)]
        if let Some(group) = self.group {
            let mut shell = Command::new("/bin/sh");
            shell.args(["-c", GUARD, &group.leader.as_raw_nonzero().to_string()]);
            // In a group of its own, so that no signal of the terminal ends it before the operator.
            shell.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
            self.guard = Some(shell.kill_on_drop(true).spawn()?);
        }
        Ok(self)
    }

    /// Its output, if it was asked for.
    pub(crate) fn take_output(&mut self) -> Option<tokio::process::ChildStdout> {
        self.child.stdout.take()
    }

    /// Waits for its end.
    ///
    /// # Cancellation
    /// Cancel safe: it can be called again.
    ///
    /// # Errors
    /// The operating system does not say how it ended.
    pub(crate) async fn ended(&mut self) -> io::Result<ExitStatus> {
        let status = self.child.wait().await?;
        // Its children, if it has left some.
        self.kill();
        (self.group, self.guard) = (None, None);
        Ok(status)
    }

    /// The signal that asks to end: SIGTERM.
    pub(crate) fn terminate(&mut self) {
        if let Some(group) = self.group {
            group.terminate(&mut self.child);
        }
    }

    /// Ends it, with its own children.
    pub(crate) fn kill(&mut self) {
        if let Some(group) = self.group {
            group.kill(&mut self.child);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
        // The guard has nothing to do any more.
        self.guard = None;
    }
}

#[cfg(unix)]
impl Group {
    fn of(child: &Child) -> Option<Self> {
        let id = child.id().and_then(|id| i32::try_from(id).ok())?;
        rustix::process::Pid::from_raw(id).map(|leader| Self { leader })
    }

    // It may have ended meanwhile: then there is nobody to signal.
    fn terminate(self, _: &mut Child) {
        let _ = rustix::process::kill_process_group(self.leader, rustix::process::Signal::TERM);
    }

    fn kill(self, _: &mut Child) {
        let _ = rustix::process::kill_process_group(self.leader, rustix::process::Signal::KILL);
    }
}

#[cfg(not(unix))]
impl Group {
    fn of(_: &Child) -> Option<Self> {
        Some(Self {})
    }

    fn terminate(self, child: &mut Child) {
        self.kill(child);
    }

    fn kill(self, child: &mut Child) {
        // It may have ended meanwhile.
        let _ = child.start_kill();
    }
}
