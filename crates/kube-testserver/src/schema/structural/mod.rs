//! The rules that make a schema structural, worded as the genuine server words them.

mod branch;
mod default;
mod list;
mod place;
mod root;
mod vocabulary;

#[cfg(test)]
mod tests;

pub(super) use root::check;
