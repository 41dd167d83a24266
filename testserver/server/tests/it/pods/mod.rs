//! Exec, attach, port-forward and logs with scripts, through websocket clients.

pub(crate) mod channels;
mod commands;
mod forwards;
mod logs;
