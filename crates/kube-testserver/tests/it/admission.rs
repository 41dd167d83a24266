//! Built-in admission plugins.

mod classes;
mod limits;
mod mutations;
mod policies;
mod quotas;
