//! What runs in pods: exec, attach, port-forward and logs against scripts, as websocket clients see it.

mod channels;
mod commands;
mod forwards;
mod logs;
