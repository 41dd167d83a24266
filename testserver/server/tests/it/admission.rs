//! Built-in admission plugins, and webhooks.

mod backends;
mod classes;
mod limits;
#[cfg(feature = "cel")]
mod mutations;
#[cfg(feature = "cel")]
mod policies;
#[cfg(all(feature = "cel", feature = "workloads"))]
mod policies_of_controllers;
mod quotas;
mod reruns;
