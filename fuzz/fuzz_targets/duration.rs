//! Go durations: what parses prints as something that parses to the same.
#![no_main]

use kube_core::Duration;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let Ok(duration) = text.parse::<Duration>() else { return };
    let printed = duration.to_string();
    let again: Duration = printed.parse().unwrap_or_else(|error| panic!("{text:?} printed as {printed:?}: {error}"));
    assert_eq!(again, duration, "{text:?} printed as {printed:?}");
});
