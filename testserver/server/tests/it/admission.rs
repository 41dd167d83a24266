//! Built-in admission plugins.

mod classes;
mod limits;
#[cfg(feature = "cel")]
mod mutations;
#[cfg(feature = "cel")]
mod policies;
mod quotas;
mod reruns;
