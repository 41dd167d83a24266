//! The program of a project: which it is, building it, and asking it for its manifests.
//!
//! - `select`: which program of which package.
//! - `build`: its executable.
//! - `process`: a child process, in a process group of its own.
//! - `manifests`: calls its subcommand `manifests`.

mod build;
mod manifests;
mod process;
mod select;

pub(super) use build::{Built, build};
pub(super) use manifests::{Call, ended_by, manifests, written};
pub(super) use process::Process;
pub(super) use select::{Program, ProgramArgs};
