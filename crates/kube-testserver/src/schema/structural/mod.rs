//! The rules of structural schemas, with the messages of the genuine server.

mod branch;
mod check;
mod document;
mod list;
mod unsupported;

#[cfg(test)]
mod tests;

pub(super) use check::check;
