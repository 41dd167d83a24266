//! Watch events: any line is an event or an error, and a decoded event can be serialized and decoded again.
#![no_main]

use k8s_openapi::api::core::v1::Pod;
use kube_core::{DynamicObject, WatchEvent};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|line: &[u8]| {
    let _ = serde_json::from_slice::<WatchEvent<Pod>>(line);
    let Ok(event) = serde_json::from_slice::<WatchEvent<DynamicObject>>(line) else { return };
    let written = serde_json::to_vec(&event).expect("a decoded event can be serialized");
    serde_json::from_slice::<WatchEvent<DynamicObject>>(&written).expect("a serialized event can be decoded");
});
