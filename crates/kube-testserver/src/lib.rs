//! An API server in the process: tests, demos, offline development.
// The modules below are the pure parts that the server stands on.
#![allow(dead_code)]

mod apply;
mod patch;
mod registry;
mod schema;
