//! Tables as the server prints them for `kubectl get`: which columns a kind has, and what stands in them.
//!
//! [`Api::table`](crate::ApiExt::table) requests one, `{}` prints it as `kubectl get`, and a [`TablePrinter`] as `kubectl get` with
//! options.

mod age;
mod print;
mod request;
mod types;

pub use age::{age, human_duration};
pub use print::TablePrinter;
pub(crate) use request::{of_list, of_object, watch};
pub use types::{Table, TableColumn, TableRow};
