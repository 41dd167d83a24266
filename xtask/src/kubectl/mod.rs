//! Jobs that run `kubectl` against the embedded server: lists of commands in `testserver/foreign/*.commands`.
//!
//! `script` reads a list, `session` runs it on a test server. `smoke` and `pods` are such jobs; `compare` runs a list on two servers, each
//! run a `transcript`, which `normalize` makes comparable. `example` compares `examples/kubectl` with kubectl.

mod compare;
mod example;
mod normalize;
mod pods;
mod script;
mod session;
mod smoke;
mod transcript;

pub(crate) use compare::compare;
pub(crate) use example::example;
pub(crate) use pods::pods;
pub(crate) use session::Server;
pub(crate) use smoke::smoke;
