//! Tests of the macros from a program that uses them.

extern crate kube_core;
extern crate kube_derive;

mod apply;
mod cel;
mod custom_resource;
mod hygiene;
mod kube_schema;
mod resource;
mod schemas;
mod table;
mod ui;
