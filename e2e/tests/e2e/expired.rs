//! An expired resourceVersion of a list is status 410. Watches and continue tokens that have expired are cases of the conformance suite.

use futures::FutureExt as _;
use kube::api::{ListParams, Patch, PatchParams, PostParams, VersionMatch};
use serde_json::json;

use crate::test_env::{Requires, rejection, run, skip};
use crate::widget::{Widget, widget};

/// A resourceVersion that every server has compacted.
const OLD: &str = "1";

#[test]
fn a_list_at_an_expired_version_is_status_410() -> anyhow::Result<()> {
    run(Requires::CustomResources, |env| {
        async move {
            let api = env.api::<Widget>();
            api.create(&PostParams::default(), &widget("a", 1)).await?;
            let change = Patch::Merge(json!({ "spec": { "size": 2 } }));
            api.patch("a", &PatchParams::default(), &change).await?;
            if let Some(server) = &env.server {
                server.api().compact();
            }
            let listed = api.list(&ListParams::default().at(OLD).matching(VersionMatch::Exact)).await;
            if env.server.is_none() && listed.is_ok() {
                return skip(
                    "a server that has run for less than five minutes has not compacted its history",
                );
            }
            let status = rejection(listed)?;
            assert_eq!((status.code, status.reason.as_str()), (410, "Expired"), "{status:?}");
            Ok(())
        }
        .boxed()
    })
}
