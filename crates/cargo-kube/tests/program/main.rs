//! The subcommands that build and run the program of a project, with a script in place of a program.
#![cfg(unix)]

mod dev;
mod harness;
mod manifests;
mod rbac;
