//! The quickstart example: `cargo run --example quickstart`. `quickstart/main.rs` explains it.
//! `cargo run --example compact-cache`: a controller whose cache keeps objects compressed.
//!
//! `cargo test -p kube-examples` also runs the Rust samples of the README, of `docs/` and of the users' guide.

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

#[cfg(doctest)]
#[doc = include_str!("../docs/defaults.md")]
mod defaults {}

#[cfg(doctest)]
#[doc = include_str!("../docs/operating.md")]
mod operating {}

#[cfg(doctest)]
#[doc = include_str!("../docs/production.md")]
mod production {}
