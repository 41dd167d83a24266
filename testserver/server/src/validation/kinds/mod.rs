//! Rules of built-in kinds that look at a whole object, with the messages of the genuine server.
//!
//! `table` says which kind has which rules for a `write`, in the order of the files: `pod`, `service`, `event`, `limit_range`,
//! `resource_quota`, `data` (ConfigMaps and Secrets), `workload`, `job`, `priority_class`, `role`, `role_binding`, `admission_policy`,
//! `webhook_configuration` and, for writes of it, `status` and `job_status`. Kinds with pods share `pod_spec`, which goes through
//! containers and their `ports`, and `mounts`, which looks at volumes after all other rules.

mod admission_policy;
mod data;
mod event;
mod job;
mod job_status;
mod limit_range;
mod mounts;
mod pod;
mod pod_spec;
mod ports;
mod priority_class;
mod resource_quota;
mod role;
mod role_binding;
mod service;
mod status;
mod table;
mod webhook_configuration;
mod workload;
mod write;

pub(super) use mounts::validate as validate_mounts;
pub(super) use table::validate;
pub(super) use write::Write;
