//! From types to Rust. Everything that comes from a schema is a token, made by `quote`: a literal, a doc comment or a checked identifier.
//! No text is put together to code.
//!
//! `files` makes the files of a run, and `module` each module in them: `root` is the struct of a kind, below it are `structs` and `enums`,
//! with `docs` from descriptions and `ty`, the types of fields.

mod docs;
mod enums;
mod files;
mod module;
mod root;
mod structs;
mod ty;

pub use files::Split;
pub(super) use files::render;
