//! Regular expressions in the syntax of Go ([RE2](https://github.com/google/re2/wiki/Syntax)), which genuine servers use: classes such as
//! `\w` are ASCII.

mod class;
mod compile;
mod error;
mod group;
mod repeat;

#[cfg(test)]
mod tests;

pub(crate) use compile::compile;
