//! The pages, and their changes.

use k8s_openapi::api::{apps::v1::Deployment, core::v1::ConfigMap};
use kube::{
    Api, Client, Error, ResourceExt,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams},
};
use operator::{
    embedded::is_ready,
    page::v2::{Page, PageSpec},
};
use serde_json::json;
use std::fmt;

const PAGES: usize = 20;

pub(crate) struct Pages {
    client: Client,
    pages: Api<Page>,
    changes: u64,
    deletions: u64,
    /// While no replica serves the webhooks, the server refuses changes.
    refused: u64,
}

impl Pages {
    pub(crate) fn new(client: Client) -> Self {
        Self { pages: Api::default_namespaced(client.clone()), client, changes: 0, deletions: 0, refused: 0 }
    }

    /// Creates, changes or deletes one page.
    pub(crate) async fn change(&mut self) -> anyhow::Result<()> {
        let name = format!("page-{}", fastrand::usize(..PAGES));
        let (title, replicas) = (format!("Number {}", self.changes), fastrand::i32(0..3));
        let paragraphs = vec!["Some text.".to_owned(); fastrand::usize(..5)];
        let is_deletion = fastrand::u8(..50) == 0;
        let result = if is_deletion {
            self.pages.delete(&name, &DeleteParams::default()).await.map(drop)
        } else {
            let spec = json!({ "spec": { "title": title, "paragraphs": paragraphs, "replicas": replicas } });
            match self.pages.patch(&name, &PatchParams::default(), &Patch::Merge(spec)).await {
                Err(error) if error.is_not_found() => {
                    let page = Page::new(&name, PageSpec { title, paragraphs, replicas });
                    self.pages.create(&PostParams::default(), &page).await.map(drop)
                }
                patched => patched.map(drop),
            }
        };
        match result {
            Ok(()) if is_deletion => self.deletions += 1,
            Ok(()) => self.changes += 1,
            Err(error) if error.is_not_found() => {}
            Err(Error::Api(status)) if status.code == 500 && status.message.contains("webhook") => {
                self.refused += 1
            }
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// Why the cluster is not what the pages say; `None` when it is.
    pub(crate) async fn unreconciled(&self) -> anyhow::Result<Option<String>> {
        let maps: Api<ConfigMap> = Api::default_namespaced(self.client.clone());
        let servers: Api<Deployment> = Api::default_namespaced(self.client.clone());
        let all = self.pages.list(&ListParams::default()).await?;
        let count = all.items.len();
        for page in all {
            let name = page.name_any();
            let problem = |what: &str| Ok(Some(format!("page {name}: {what}; status {:?}", page.status)));
            if page.metadata.deletion_timestamp.is_some() {
                return problem("its deletion is not finished");
            }
            if !is_ready(Some(&page)) {
                return problem("it is not ready");
            }
            let child = format!("{name}-page");
            let html = maps.get(&child).await?.data.and_then(|mut data| data.remove("index.html"));
            if !html.unwrap_or_default().contains(&format!("<h1>{}</h1>", page.spec.title)) {
                return problem("its ConfigMap has another title");
            }
            if servers.get(&child).await?.spec.replicas != Some(page.spec.replicas) {
                return problem("its Deployment has another number of replicas");
            }
        }
        let children = servers.list(&ListParams::default()).await?.items.len();
        let left = format!("{count} pages have {children} Deployments");
        Ok((children != count).then_some(left))
    }
}

impl fmt::Display for Pages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { changes, deletions, refused, .. } = self;
        write!(
            f,
            "{changes} changes and {deletions} deletions of {PAGES} pages; {refused} refused without a webhook"
        )
    }
}
