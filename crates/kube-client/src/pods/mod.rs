//! What programs do with running pods: run a command, copy files, forward ports, read the logs of many pods.
//!
//! Each is a method of [`Api<Pod>`](crate::Api). The streams are tokio's [`AsyncRead`](tokio::io::AsyncRead) and
//! [`AsyncWrite`](tokio::io::AsyncWrite).
//!
//! | method | what it does | feature |
//! |---|---|---|
//! | `Api::exec_output` | runs a command to its end, and returns its exit code and output | `ws` |
//! | `Api::copy_to`, `Api::copy_from` | copies files and directories, as `kubectl cp` | `cp` |
//! | `Api::forward` | listens on local ports, and forwards connections to a pod, a Service or a workload | `ws` |
//! | [`Api::log_lines`](crate::Api::log_lines) | the lines of all pods of a selector, and of those that come later | |
//! | [`Api::log_reader`](crate::Api::log_reader) | the log of one container as bytes | |

// Commands.
#[cfg(feature = "ws")]
mod exec;
// Files, through `tar` in the container.
#[cfg(feature = "cp")]
mod copy;
// Ports.
#[cfg(feature = "ws")]
mod forward;
// Logs.
mod logs;
// Pods, as far as all of these look at them.
mod summary;

#[cfg(feature = "cp")]
pub use copy::{Copied, CopyError, CopyErrorKind, CopyParams, CopyProgress, Skipped};
#[cfg(feature = "ws")]
pub use exec::{ExecError, ExecParams, ExitStatus, Output};
#[cfg(feature = "ws")]
pub use forward::{ForwardError, ForwardPort, ForwardTarget, Forwarder, InvalidForward, RemotePort};
pub use logs::{LogLine, LogLines, LogLinesError, LogLinesParams};
