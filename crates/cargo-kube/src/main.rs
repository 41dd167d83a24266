//! The program `cargo kube`: `new`, `add` and `upgrade` write operators, `gen` makes Rust types from definitions of custom resources.
//!
//! Each subcommand has a file in `cli/`; what it does is in the library.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::run(std::env::args_os().collect())
}
