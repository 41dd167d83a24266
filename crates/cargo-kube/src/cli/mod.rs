//! The command line: what all subcommands have in common.
//!
//! `inputs` reads the paths of a command line, `program` finds and builds the program of a project, `cluster` reads the definitions of the
//! current kubeconfig, `runtime` runs what is asynchronous. The subcommands: `project` (`new`, `add`, `upgrade`), `dev`, `crd`,
//! `manifests`, `rbac`, `verify` and `completions`. `output` prints.

mod cluster;
mod completions;
mod crd;
mod dev;
mod r#gen;
mod inputs;
mod manifests;
mod output;
mod program;
mod project;
mod rbac;
mod runtime;
mod verify;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory as _, Parser, Subcommand};

/// Tools for operators in Rust.
#[derive(Debug, Parser)]
#[command(name = "cargo kube", bin_name = "cargo kube", version, disable_help_subcommand = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    New(project::New),
    Add(project::Add),
    Upgrade(project::Upgrade),
    Gen(r#gen::Gen),
    Crd(crd::Crd),
    Manifests(manifests::Manifests),
    Rbac(rbac::Rbac),
    Dev(dev::Dev),
    Verify(verify::Verify),
    Completions(completions::Completions),
}

/// Runs the program. Exit codes: 0 if it did its work; 1 if it found what it looks for (a difference, a conflict, a breaking change, a
/// refused object); 2 for wrong input, and for what could not be read or written.
pub(crate) fn run(mut arguments: Vec<OsString>) -> ExitCode {
    // Cargo runs `cargo-kube kube gen`.
    if arguments.get(1).is_some_and(|first| first == "kube") {
        arguments.remove(1);
    }
    let result = match Cli::parse_from(arguments).command {
        Command::New(command) => command.run(),
        Command::Add(command) => command.run(),
        Command::Upgrade(command) => command.run(),
        Command::Crd(command) => command.run(),
        Command::Gen(command) => command.run(),
        Command::Manifests(command) => command.run(),
        Command::Rbac(command) => command.run(),
        Command::Dev(command) => command.run(),
        Command::Verify(command) => command.run(),
        Command::Completions(command) => command.run(Cli::command()),
    };
    result.unwrap_or_else(|err| {
        eprintln!("error: {}", output::causes(&err));
        ExitCode::from(2)
    })
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_consistent_and_its_help_is_complete_and_fits_a_screen() {
        let mut command = super::Cli::command();
        command.build();
        check(&mut command);
        command.debug_assert();
    }

    fn check(command: &mut clap::Command) {
        for subcommand in command.get_subcommands_mut() {
            let lines = subcommand.render_help().to_string().lines().count();
            let name = subcommand.get_name();
            assert!(lines <= 40, "{name} has {lines} lines of help");
            for argument in subcommand.get_arguments() {
                assert!(argument.get_help().is_some(), "{name}: {} has no help", argument.get_id());
            }
            check(subcommand);
        }
    }
}
