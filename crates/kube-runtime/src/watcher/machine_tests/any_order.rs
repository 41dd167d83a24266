//! What holds whatever the server does.

use super::bench::*;
use crate::watcher::{
    Config,
    machine::{Next, Read},
};
use proptest::prelude::*;
use std::time::Duration;

/// One thing a server can do, with numbers to choose by.
#[derive(Debug, Clone, Copy)]
struct Deed {
    what: u8,
    version: u16,
    seconds: u64,
}

fn deed() -> impl Strategy<Value = Deed> {
    (any::<u8>(), any::<u16>(), prop_oneof![3 => Just(0), 1 => 0..400u64])
        .prop_map(|(what, version, seconds)| Deed { what, version, seconds })
}

const CODES: [u16; 9] = [400, 401, 404, 410, 422, 429, 500, 503, 504];

/// Does what the machine asked for, well or badly.
fn serve(bench: &mut Bench, deed: Deed) -> Vec<String> {
    let version = deed.version.to_string();
    let code = CODES[usize::from(deed.what) % CODES.len()];
    let bad = deed.what.is_multiple_of(3);
    match (bench.next(), deed.what % 7) {
        (Next::List(_), 0) => bench.list_error(broken()),
        (Next::List(_), _) if bad => bench.list_error(api_error(code)),
        (Next::List(_), 1) => {
            bench.page(list(&version, "more", vec![object("a", &version), spoiled("b", "1")]))
        }
        (Next::List(_), _) => bench.page(list(&version, "", vec![object("c", &version)])),
        (Next::Probe, 0) => bench.probed(Err(broken())),
        (Next::Probe, _) if bad => bench.probed(Err(api_error(code))),
        (Next::Probe, _) => bench.probed(Ok(&version)),
        (Next::Watch(..), 0) => bench.refused(broken()),
        (Next::Watch(..), _) if bad => bench.refused(api_error(code)),
        (Next::Watch(..), _) => bench.started(),
        (Next::Read { .. }, 0) => bench.read(Read::Broken(broken())),
        (Next::Read { .. }, 1) => bench.read(Read::Ended),
        (Next::Read { .. }, 2) => bench.read(Read::Silent),
        (Next::Read { .. }, _) if bad => bench.read(error_event(code, 0)),
        (Next::Read { .. }, 3) => bench.message(bookmark(&version, deed.seconds > 200)),
        (Next::Read { .. }, 4) => bench.message(added("d", &version)),
        (Next::Read { .. }, 5) => {
            bench.message(serde_json::json!({ "type": "DELETED", "object": object("d", &version) }))
        }
        (Next::Read { .. }, _) => {
            bench.message(serde_json::json!({ "type": "MODIFIED", "object": spoiled("e", &version) }))
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn events_keep_their_order_and_failures_their_distance(
        streaming in any::<bool>(),
        deeds in prop::collection::vec(deed(), 1..150),
    ) {
        let config = Config::default();
        let mut bench = Bench::new(if streaming { config.streaming_lists() } else { config });
        let (mut listing, mut listed) = (false, false);
        for deed in deeds {
            bench.pass(deed.seconds);
            let probing = bench.next() == Next::Probe;
            let emitted = serve(&mut bench, deed);
            for item in &emitted {
                match item.split('(').next().unwrap_or_default() {
                    "Init" => listing = true,
                    "InitApply" => prop_assert!(listing, "InitApply outside a list"),
                    "Synced" => {
                        prop_assert!(listing, "Synced outside a list");
                        (listing, listed) = (false, true);
                    }
                    "Apply" => prop_assert!(listed && !listing, "Apply within a list"),
                    "Delete" => prop_assert!(listed || listing, "Delete before a list"),
                    _error => {}
                }
            }
            let failed = emitted.iter().any(|item| item.contains("Failed") || item.contains("WatchError"));
            let asks_again = !matches!(bench.next(), Next::Read { .. });
            let skipped = emitted.iter().any(|item| item == "Synced");
            if failed && asks_again && !skipped {
                prop_assert!(bench.wait >= Duration::from_millis(100), "spins after {emitted:?}");
            }
            if bench.wait == Duration::ZERO && asks_again && emitted.is_empty() {
                // Only a good watch that ended, a continue token that expired, or an answer about the version may go on
                // at once without a word.
                let fair = match bench.next() {
                    Next::List(params) => params.limit.is_none() && params.continue_token.is_none(),
                    Next::Watch(..) | Next::Probe => probing || deed.what % 7 == 1,
                    Next::Read { .. } => true,
                };
                prop_assert!(fair, "goes on at once");
            }
        }
    }
}
