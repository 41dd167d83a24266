//! The quickstart example: `cargo run --example quickstart`. `quickstart/main.rs` explains it.
//! `cargo run --example compact-cache`: a controller whose cache keeps objects compressed.
//! `book/`: the samples of the book, as tests, and the programs of its tutorial.
//!
//! `cargo test -p kube-examples` also compiles the sample of the README and those of the users' guide.

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
