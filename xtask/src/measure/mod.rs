//! Jobs that measure: instructions and allocations of operations, and what the test server costs a program and its build.

mod generator;
mod instructions;
mod server;
mod server_size;

pub(crate) use generator::generator;
pub(crate) use instructions::instructions;
pub(crate) use server::{cost, data};
pub(crate) use server_size::size;
