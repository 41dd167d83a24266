//! Go durations: a parsed duration prints as text that parses to an equal duration.
#![no_main]

use kube_core::Duration;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let Ok(duration) = text.parse::<Duration>() else { return };
    let printed = duration.to_string();
    let reparsed: Duration =
        printed.parse().unwrap_or_else(|error| panic!("{text:?} printed as {printed:?}: {error}"));
    assert_eq!(reparsed, duration, "{text:?} printed as {printed:?}");
});
