//! The rules that make a schema structural, worded as the genuine server words them.

mod branch;
mod check;
mod document;
mod list;
mod unsupported;

#[cfg(test)]
mod tests;

pub(super) use check::check;
