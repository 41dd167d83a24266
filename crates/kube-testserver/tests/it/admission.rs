//! Built-in admission plugins.

mod classes;
mod limits;
mod quotas;
