//! The crate against the embedded API server.

mod apply;
#[cfg(feature = "apply-set")]
mod apply_set;
mod crds;
mod cutter;
mod definition;
mod methods;
#[cfg(feature = "ws")]
mod pod_exec;
#[cfg(all(feature = "cp", unix))]
mod pod_files;
#[cfg(feature = "ws")]
mod pod_forward;
mod pod_logs;
#[path = "../../../kube-client/tests/it/recorder.rs"]
mod recorder;
#[cfg(feature = "ws")]
#[path = "../../../kube-client/tests/it/running_pod.rs"]
mod running_pod;
#[path = "../../../kube-client/tests/it/server.rs"]
mod server;
mod tables;
#[path = "../../../kube-client/tests/it/tasks.rs"]
mod tasks;
mod wait;
mod yaml;
#[cfg(feature = "apply-set")]
mod yaml_deploy;
mod yaml_texts;
