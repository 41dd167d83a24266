//! The objects that arguments name: `pods`, `pods web-0`, `pod/web-0 service/web`.

use anyhow::Context as _;
use kube::api::{Api, DynamicObject};
use kube::discovery::RestMapping;

use crate::Cluster;

/// A kind, and one of its objects or all of them.
pub(crate) struct Selected {
    pub(crate) mapping: RestMapping,
    pub(crate) name: Option<String>,
}

impl Selected {
    /// The name, where all objects are too many.
    pub(crate) fn name(&self) -> anyhow::Result<&str> {
        self.name.as_deref().context("expected the names of objects")
    }
}

impl Cluster {
    /// `TYPE`, `TYPE,TYPE`, `TYPE NAME...` or `TYPE/NAME...`.
    pub(crate) async fn select(&self, args: &[String]) -> anyhow::Result<Vec<Selected>> {
        let mut selected = Vec::new();
        if args.iter().any(|arg| arg.contains('/')) {
            for arg in args {
                let (mapping, name) = self.select_one(arg).await?;
                selected.push(Selected { mapping, name: Some(name) });
            }
            return Ok(selected);
        }
        let (kinds, names) = args.split_first().context("expected a type such as `pods`")?;
        for kind in kinds.split(',') {
            let mapping = self.mapper.resource(kind).await?;
            let one = |name: Option<&String>| Selected { mapping: mapping.clone(), name: name.cloned() };
            selected.extend(names.iter().map(|name| one(Some(name))));
            selected.extend(names.is_empty().then(|| one(None)));
        }
        Ok(selected)
    }

    /// `TYPE/NAME`
    pub(crate) async fn select_one(&self, arg: &str) -> anyhow::Result<(RestMapping, String)> {
        let (kind, name) = arg.split_once('/').with_context(|| format!("{arg}: expected TYPE/NAME"))?;
        Ok((self.mapper.resource(kind).await?, name.to_owned()))
    }

    pub(crate) fn api(&self, mapping: &RestMapping, all_namespaces: bool) -> Api<DynamicObject> {
        match mapping.is_namespaced() && !all_namespaces {
            true => Api::namespaced_with(self.client.clone(), &self.namespace, &mapping.resource),
            false => Api::all_with(self.client.clone(), &mapping.resource),
        }
    }
}

/// The name of a kind as kubectl prints it before an object: `pod`, `deployment.apps`.
pub(crate) fn singular(mapping: &RestMapping) -> String {
    match mapping.resource.group.as_str() {
        "" => mapping.singular.clone(),
        group => format!("{}.{group}", mapping.singular),
    }
}
