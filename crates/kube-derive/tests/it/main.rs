//! What the derive macros generate, seen from a program that uses them.

extern crate kube_core;
extern crate kube_derive;

mod schemas;
mod table;
