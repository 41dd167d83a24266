//! Programs that show the project at work: `cargo run --example quickstart`.
//!
//! The samples of the README and of the documents are compiled and run as tests of this crate.

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

#[cfg(doctest)]
#[doc = include_str!("../docs/testing.md")]
mod testing {}

#[cfg(doctest)]
#[doc = include_str!("../docs/crds.md")]
mod crds {}

#[cfg(doctest)]
#[doc = include_str!("../docs/client.md")]
mod client {}

#[cfg(doctest)]
#[doc = include_str!("../docs/runtime.md")]
mod runtime {}
