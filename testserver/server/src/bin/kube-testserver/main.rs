//! A Kubernetes API server for development, in one process: `kube-testserver --help`.
//!
//! Called by the name `etcd` or `kube-apiserver`, it is that program for Go's envtest: `assets` writes a folder with these names.

// - `flags` reads a command line as Go does, `args` that of the program; `stop` has the signals that end it, `log` its output.
// - `standalone` is the program itself; `assets` writes the folder for envtest, `etcd` and `apiserver` are its programs, the latter with
//   the flags of `apiserver_args`.

mod apiserver;
mod apiserver_args;
mod args;
mod assets;
mod etcd;
mod flags;
mod log;
mod standalone;
mod stop;

use std::{ffi::OsString, io::Write as _, path::Path, process::ExitCode};

use args::{Command, USAGE};

type Error = Box<dyn std::error::Error>;

/// What a command line asks for.
enum Action {
    Print(String),
    Run(std::pin::Pin<Box<dyn Future<Output = Result<(), Error>>>>),
}

fn main() -> ExitCode {
    let mut args = std::env::args_os();
    let name = program_name(args.next());
    let action = match name.as_str() {
        apiserver::NAME => apiserver_action(args),
        etcd::NAME => etcd_action(args),
        _ => own_action(args),
    };
    match action {
        Ok(Action::Print(text)) => {
            // Whoever reads it may have read enough.
            let _ = writeln!(std::io::stdout(), "{text}");
            ExitCode::SUCCESS
        }
        Ok(Action::Run(program)) => run(&name, program),
        Err(problem) => {
            eprintln!("{name}: {problem}\nTry `{name} --help`.");
            ExitCode::from(2)
        }
    }
}

fn program_name(path: Option<OsString>) -> String {
    let name = path.as_deref().and_then(|path| Path::new(path).file_stem()?.to_str());
    name.filter(|name| assets::PROGRAMS.contains(name)).unwrap_or("kube-testserver").to_owned()
}

fn own_action(args: impl Iterator<Item = OsString>) -> Result<Action, String> {
    Ok(match args::parse(args)? {
        Command::Serve(args) => Action::Run(Box::pin(standalone::serve(*args))),
        Command::Assets(folder) => Action::Run(Box::pin(async move { assets::print(&folder) })),
        Command::Help => Action::Print(USAGE.to_owned()),
        Command::Version => Action::Print(format!("kube-testserver {}", env!("CARGO_PKG_VERSION"))),
    })
}

fn apiserver_action(args: impl Iterator<Item = OsString>) -> Result<Action, String> {
    Ok(match apiserver_args::parse(args)? {
        apiserver_args::Command::Serve(args) => Action::Run(Box::pin(apiserver::serve(*args))),
        apiserver_args::Command::Print(text) => Action::Print(text),
    })
}

fn etcd_action(args: impl Iterator<Item = OsString>) -> Result<Action, String> {
    Ok(match etcd::parse(args)? {
        etcd::Command::Serve(args) => Action::Run(Box::pin(etcd::serve(args))),
        etcd::Command::Print(text) => Action::Print(text),
    })
}

fn run(name: &str, program: impl Future<Output = Result<(), Error>>) -> ExitCode {
    log::to_stderr();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    match runtime.map_err(Into::into).and_then(|runtime| runtime.block_on(program)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{name}: {}", chain(&*error));
            ExitCode::FAILURE
        }
    }
}

/// An error and its sources.
fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    std::iter::once(error.to_string()).chain(causes.map(ToString::to_string)).collect::<Vec<_>>().join(": ")
}
