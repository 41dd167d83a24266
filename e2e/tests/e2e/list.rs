//! Lists: order, pages, selectors.

use futures::{FutureExt as _, TryStreamExt as _};
use kube::ResourceExt as _;
use kube::api::{ListParams, PostParams};

use crate::test_env::{Requires, TestEnv, run};
use crate::widget::{Widget, widget};

/// Creates widgets `w0` to `w9`, labelled with their parity.
async fn create_ten(env: &TestEnv) -> anyhow::Result<()> {
    for index in 0..10 {
        let mut object = widget(&format!("w{index}"), index);
        object.labels_mut().insert("parity".into(), if index % 2 == 0 { "even" } else { "odd" }.into());
        env.api::<Widget>().create(&PostParams::default(), &object).await?;
    }
    Ok(())
}

#[test]
fn pages_together_are_the_whole_list_in_order() -> anyhow::Result<()> {
    run(Requires::CustomResources, |env| {
        async move {
            create_ten(env).await?;
            let (mut names, mut params, mut pages) = (Vec::new(), ListParams::default().limit(4), 0);
            loop {
                let page = env.api::<Widget>().list(&params).await?;
                pages += 1;
                assert!(page.items.len() <= 4);
                names.extend(page.items.iter().map(|widget| widget.name_any()));
                match page.metadata.continue_.filter(|token| !token.is_empty()) {
                    Some(token) => {
                        assert_eq!(page.metadata.remaining_item_count, Some(10 - names.len() as i64));
                        params = params.continue_token(&token);
                    }
                    None => break,
                }
            }
            assert_eq!(pages, 3);
            assert_eq!(names, (0..10).map(|index| format!("w{index}")).collect::<Vec<_>>());
            Ok(())
        }
        .boxed()
    })
}

#[test]
fn a_continued_list_does_not_see_later_writes() -> anyhow::Result<()> {
    run(Requires::CustomResources, |env| {
        async move {
            create_ten(env).await?;
            let api = env.api::<Widget>();
            let first = api.list(&ListParams::default().limit(5)).await?;
            api.create(&PostParams::default(), &widget("w9999", 1)).await?;
            let token = first.metadata.continue_.clone().unwrap_or_default();
            let rest = api.list(&ListParams::default().limit(50).continue_token(&token)).await?;
            assert_eq!(
                rest.items.len(),
                5,
                "{:?}",
                rest.items.iter().map(|w| w.name_any()).collect::<Vec<_>>()
            );
            assert_eq!(rest.metadata.resource_version, first.metadata.resource_version);
            Ok(())
        }
        .boxed()
    })
}

#[test]
fn selectors_filter_a_list() -> anyhow::Result<()> {
    run(Requires::CustomResources, |env| {
        async move {
            create_ten(env).await?;
            let api = env.api::<Widget>();
            for (params, expected) in [
                (ListParams::default().labels("parity=even"), 5),
                (ListParams::default().labels("parity!=even"), 5),
                (ListParams::default().labels("parity in (even, odd)"), 10),
                (ListParams::default().labels("!parity"), 0),
                (ListParams::default().fields("metadata.name=w3"), 1),
                (ListParams::default().fields("metadata.name!=w3").labels("parity=odd"), 4),
            ] {
                assert_eq!(api.list(&params).await?.items.len(), expected, "{params:?}");
            }
            Ok(())
        }
        .boxed()
    })
}

#[test]
fn a_stream_has_every_object_once_in_order() -> anyhow::Result<()> {
    run(Requires::CustomResources, |env| {
        async move {
            create_ten(env).await?;
            let names = env.api::<Widget>().list_stream(&ListParams::default().limit(3));
            let names: Vec<_> = names.map_ok(|widget| widget.name_any()).try_collect().await?;
            assert_eq!(names, (0..10).map(|index| format!("w{index}")).collect::<Vec<_>>());
            Ok(())
        }
        .boxed()
    })
}
