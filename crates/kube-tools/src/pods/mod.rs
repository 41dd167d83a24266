//! What programs do with running pods: run a command, copy files, forward ports, read the logs of many pods.
//!
//! Each is a method of [`ApiExt`](crate::ApiExt) for `Api<Pod>`. The streams are tokio's [`AsyncRead`](tokio::io::AsyncRead) and
//! [`AsyncWrite`](tokio::io::AsyncWrite).
//!
//! | method | what it does | feature |
//! |---|---|---|
//! | `ApiExt::default_container` | the container that kubectl uses where none is given | `ws` |
//! | `ApiExt::exec_output` | runs a command to its end, and returns its exit code and output | `ws` |
//! | `ApiExt::copy_to`, `ApiExt::copy_from` | copies files and directories, as `kubectl cp` | `cp` |
//! | `ApiExt::forward` | listens on local ports, and forwards connections to a pod, a Service or a workload | `ws` |
//! | [`ApiExt::log_lines`](crate::ApiExt::log_lines) | the lines of all pods of a selector, and of those that come later | |
//! | [`Api::log_reader`](kube_client::Api::log_reader) | the log of one container as bytes | |

// `exec` runs commands; `copy` has files, through `tar` in the container; `forward` has ports, `logs` lines. All look at pods by
// `summary`, and `container` chooses which one is meant.
mod container;
#[cfg(feature = "cp")]
mod copy;
#[cfg(feature = "ws")]
mod exec;
#[cfg(feature = "ws")]
mod forward;
mod logs;
mod summary;

#[cfg(feature = "cp")]
pub use copy::{Copied, CopyError, CopyErrorKind, CopyParams, CopyProgress, Skipped};
#[cfg(feature = "ws")]
pub use exec::{ExecError, ExecParams, ExitStatus, Output};
#[cfg(feature = "ws")]
pub use forward::{ForwardError, ForwardPort, ForwardTarget, Forwarder, InvalidForward, RemotePort};
pub use logs::{LogLine, LogLines, LogLinesError, LogLinesParams};

#[cfg(feature = "cp")]
pub(crate) use copy::{copy_from, copy_to};
#[cfg(feature = "ws")]
pub(crate) use exec::{default_container_of, exec_output};
#[cfg(feature = "ws")]
pub(crate) use forward::forward;
pub(crate) use logs::log_lines;
