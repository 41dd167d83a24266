//! The cache itself: one [`Writer`], any number of [`Store`]s to read it.

mod progress;
mod reader;
mod wait;
mod writer;

pub use reader::{Store, WriterDropped};
pub use wait::WaitForError;
pub use writer::{Writer, store, store_shared};

#[cfg(test)]
mod index_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod wait_tests;
