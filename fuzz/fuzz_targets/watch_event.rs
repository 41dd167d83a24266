//! Watch lines: any bytes are an event or an error, and what was read can be written and read again.
#![no_main]

use k8s_openapi::api::core::v1::Pod;
use kube_core::{DynamicObject, WatchEvent};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|line: &[u8]| {
    let _ = serde_json::from_slice::<WatchEvent<Pod>>(line);
    let Ok(event) = serde_json::from_slice::<WatchEvent<DynamicObject>>(line) else { return };
    let written = serde_json::to_vec(&event).expect("an event that was read can be written");
    serde_json::from_slice::<WatchEvent<DynamicObject>>(&written).expect("an event that was written can be read");
});
