//! Which cache keeps the objects of a source: a compact one, if the configuration says so and the feature `compact-cache` is on.

#[cfg(not(feature = "compact-cache"))]
mod disabled;
#[cfg(feature = "compact-cache")]
mod enabled;
