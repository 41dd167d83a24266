//! Processes and their connections to a server in simulated time, for the state machines of leader election and sharding.
//!
//! - `world`: time, faults, and requests in flight.
//! - `seeds`: which simulations run.

mod seeds;
mod world;

pub(crate) use {
    seeds::{SEEDS, for_each_seed},
    world::{Call, Node, World},
};
