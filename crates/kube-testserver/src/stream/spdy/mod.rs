//! SPDY/3.1 as far as Kubernetes uses it: many streams over one connection, between `kubectl` and nodes. Framing and headers are
//! those of [draft-mbelshe-httpbis-spdy-00](https://datatracker.ietf.org/doc/html/draft-mbelshe-httpbis-spdy-00); nobody
//! speaks its flow control.

mod command;
mod forward;
mod frame;
mod headers;
mod serve;
mod session;

pub(super) use serve::serve;
