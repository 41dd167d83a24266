//! The sessions of `exec` and `attach`, recorded for tests to look at.

use std::{collections::VecDeque, sync::Arc};

use parking_lot::Mutex;

use super::{Container, Exit, TerminalSize};

/// The number of sessions that are kept; the oldest are dropped first.
const MAX_SESSIONS: usize = 1000;

/// An `exec` or `attach` session.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Session {
    /// The container.
    pub container: Container,
    /// The command and its arguments; empty for `attach`.
    pub command: Vec<String>,
    /// Whether it has a terminal.
    pub tty: bool,
    /// All terminal sizes that the client sent, in order.
    pub sizes: Vec<TerminalSize>,
    /// How it ended; `None` while it runs, and when the client disconnected first.
    pub exit: Option<Exit>,
}

/// The sessions so far, oldest first.
#[derive(Clone, Debug, Default)]
pub(super) struct SessionLog(Arc<Mutex<VecDeque<Arc<Mutex<Session>>>>>);

/// Records the events of one session.
#[derive(Clone, Debug)]
pub(crate) struct SessionRecorder(Arc<Mutex<Session>>);

impl SessionLog {
    pub(super) fn begin(&self, container: &Container, command: &[String], tty: bool) -> SessionRecorder {
        let (container, command) = (container.clone(), command.to_vec());
        let session =
            Arc::new(Mutex::new(Session { container, command, tty, sizes: Vec::new(), exit: None }));
        let mut all = self.0.lock();
        all.push_back(session.clone());
        if all.len() > MAX_SESSIONS {
            all.pop_front();
        }
        SessionRecorder(session)
    }

    pub(super) fn all(&self) -> Vec<Session> {
        self.0.lock().iter().map(|session| session.lock().clone()).collect()
    }
}

impl SessionRecorder {
    pub(crate) fn resized(&self, size: TerminalSize) {
        self.0.lock().sizes.push(size);
    }

    pub(crate) fn ended(&self, exit: &Exit) {
        self.0.lock().exit = Some(exit.clone());
    }
}
