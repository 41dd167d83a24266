//! Tables as the server prints them for `kubectl get`: which columns a kind has, and what stands in them.
//!
//! [`Api::table`](crate::Api::table) requests one, `{}` prints it as `kubectl get`, and a [`TablePrinter`] as `kubectl get` with options.

mod age;
mod print;
mod types;

pub use age::{age, human_duration};
pub use print::TablePrinter;
pub use types::{Table, TableColumn, TableRow};
