//! SPDY/3.1 as Kubernetes uses it: many streams over one connection, between `kubectl` and nodes.
//!
//! Framing and headers follow [draft-mbelshe-httpbis-spdy-00](https://datatracker.ietf.org/doc/html/draft-mbelshe-httpbis-spdy-00).
//! Kubernetes does not use its flow control. In the order in which data passes:
//!
//! - `negotiate`: the version that client and server agree on. `serve`: what is then served. `tunnel`: SPDY within a websocket.
//! - `session`: the streams of a connection, of `frame`s and their `headers`.
//! - `command`, `forward`: what the streams carry.

mod command;
mod forward;
mod frame;
mod headers;
mod negotiate;
mod serve;
mod session;
mod tunnel;

pub(super) use negotiate::{Carrier, FORWARD, agree, carrier, serve_on};
