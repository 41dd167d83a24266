//! Built-in admission plugins.

mod classes;
