//! The quickstart example: `cargo run --example quickstart`. `quickstart/main.rs` explains it.
//! `cargo run --example compact-cache`: a controller whose cache keeps objects compressed.
//! `book/`: the samples of the book, as tests. `book/tutorial/` has what each step of the tutorial changes in a project of
//! `cargo kube new`.
//!
//! `cargo test -p kube-examples` also compiles the sample of the README and those of the users' guide.

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
