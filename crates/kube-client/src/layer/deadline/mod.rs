//! An answer that does not come, or stops coming, is an error after a while: for servers that keep a connection open and say nothing.

mod body;
mod future;
mod idle;
mod layer;
mod limits;
mod service;

pub use body::DeadlineBody;
pub use future::DeadlineFuture;
pub use layer::DeadlineLayer;
pub use service::Deadline;
