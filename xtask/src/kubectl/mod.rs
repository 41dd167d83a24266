//! Jobs that run `kubectl` against the embedded server: lists of commands in `testserver/foreign/*.commands`.

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
