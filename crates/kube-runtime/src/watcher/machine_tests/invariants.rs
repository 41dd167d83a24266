//! Invariants under random server behaviour.

use super::harness::*;
use crate::watcher::{
    Config,
    machine::{Next, Read},
};
use proptest::prelude::*;
use std::time::Duration;

/// A random reaction of the server: `what` selects it.
#[derive(Debug, Clone, Copy)]
struct ServerAction {
    what: u8,
    version: u16,
    seconds: u64,
}

fn server_action() -> impl Strategy<Value = ServerAction> {
    (any::<u8>(), any::<u16>(), prop_oneof![3 => Just(0), 1 => 0..400u64])
        .prop_map(|(what, version, seconds)| ServerAction { what, version, seconds })
}

const CODES: [u16; 9] = [400, 401, 404, 410, 422, 429, 500, 503, 504];

/// Performs what the machine asks for, with success or failure.
fn serve(harness: &mut Harness, action: ServerAction) -> Vec<String> {
    let version = action.version.to_string();
    let code = CODES[usize::from(action.what) % CODES.len()];
    let bad = action.what.is_multiple_of(3);
    match (harness.next(), action.what % 7) {
        (Next::List(_), 0) => harness.list_error(connection_reset()),
        (Next::List(_), _) if bad => harness.list_error(api_error(code)),
        (Next::List(_), 1) => {
            harness.page(list(&version, "more", vec![object("a", &version), undecodable("b", "1")]))
        }
        (Next::List(_) | Next::ReadList, 2 | 4) => harness.items(vec![decode(object("c", &version))]),
        (Next::List(_), _) => harness.page(list(&version, "", vec![object("c", &version)])),
        (Next::ReadList, 0) => harness.list_error(connection_reset()),
        (Next::ReadList, 1) => harness.page(list(&version, "more", vec![])),
        (Next::ReadList, _) => harness.page(list(&version, "", vec![undecodable("b", "1")])),
        (Next::CheckVersion, 0) => harness.version_checked(Err(connection_reset())),
        (Next::CheckVersion, _) if bad => harness.version_checked(Err(api_error(code))),
        (Next::CheckVersion, _) => harness.version_checked(Ok(&version)),
        (Next::Watch(..), 0) => harness.watch_refused(connection_reset()),
        (Next::Watch(..), _) if bad => harness.watch_refused(api_error(code)),
        (Next::Watch(..), _) => harness.watch_started(),
        (Next::Read { .. }, 0) => harness.read(Read::Failed(connection_reset().into())),
        (Next::Read { .. }, 1) => harness.read(Read::Closed),
        (Next::Read { .. }, 2) => harness.read(Read::IdleTimeout),
        (Next::Read { .. }, _) if bad => harness.read(error_event(code, 0)),
        (Next::Read { .. }, 3) => harness.message(bookmark(&version, action.seconds > 200)),
        (Next::Read { .. }, 4) => harness.message(added("d", &version)),
        (Next::Read { .. }, 5) => {
            harness.message(serde_json::json!({ "type": "DELETED", "object": object("d", &version) }))
        }
        (Next::Read { .. }, _) => {
            harness.message(serde_json::json!({ "type": "MODIFIED", "object": undecodable("e", &version) }))
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn events_keep_their_order_and_retries_wait(
        streaming in any::<bool>(),
        actions in prop::collection::vec(server_action(), 1..150),
    ) {
        let config = Config::default();
        let mut harness = Harness::new(if streaming { config.streaming_lists() } else { config });
        let (mut listing, mut listed) = (false, false);
        for action in actions {
            harness.advance(action.seconds);
            let checking_version = harness.next() == Next::CheckVersion;
            let reading_list = harness.next() == Next::ReadList;
            let emitted = serve(&mut harness, action);
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
            let sends_request = !matches!(harness.next(), Next::Read { .. } | Next::ReadList);
            let synced = emitted.iter().any(|item| item == "Synced");
            if failed && sends_request && !synced {
                prop_assert!(harness.wait >= Duration::from_millis(100), "spins after {emitted:?}");
            }
            if harness.wait == Duration::ZERO && sends_request && emitted.is_empty() {
                // Only after a healthy watch, the end of a page, an expired continue token or a version check may a request follow at
                // once without an item.
                let allowed = match harness.next() {
                    Next::List(params) => {
                        reading_list || (params.limit.is_none() && params.continue_token.is_none())
                    }
                    Next::Watch(..) | Next::CheckVersion => checking_version || action.what % 7 == 1,
                    Next::Read { .. } | Next::ReadList => true,
                };
                prop_assert!(allowed, "requests again without a wait");
            }
        }
    }
}
