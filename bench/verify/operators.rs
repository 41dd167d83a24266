//! An operator on `kube` of the registry: each ConfigMap with the label `database` gets a Secret with a password, which it owns.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::{ObjectMeta, Patch, PatchParams, PostParams};
use kube::runtime::controller::Action;
use kube::runtime::{Controller, watcher};
use kube::{Api, Client, Resource, ResourceExt};

/// How the operator finds out whether the Secret is there.
#[derive(Clone, Copy)]
pub enum Read {
    /// An error is an error.
    Correct,
    /// A read that failed is taken for an absent Secret, so the password is replaced. A public operator had this fault.
    ErrorIsAbsent,
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Kube(#[from] kube::Error),
    #[error("a ConfigMap without a name or uid")]
    Unnamed,
}

struct Context {
    client: Client,
    read: Read,
}

/// One process of the operator.
pub async fn run(client: Client, read: Read) {
    let databases = Api::<ConfigMap>::default_namespaced(client.clone());
    let secrets = Api::<Secret>::default_namespaced(client.clone());
    Controller::new(databases, watcher::Config::default().labels("database"))
        .owns(secrets, watcher::Config::default())
        .run(reconcile, |_, _, _| Action::requeue(Duration::from_secs(5)), Arc::new(Context { client, read }))
        .for_each(|_| std::future::ready(()))
        .await;
}

async fn reconcile(database: Arc<ConfigMap>, context: Arc<Context>) -> Result<Action, Error> {
    let secrets = Api::<Secret>::default_namespaced(context.client.clone());
    let name = format!("{}-password", database.name_any());
    let present = match context.read {
        Read::Correct => secrets.get_opt(&name).await?.is_some(),
        Read::ErrorIsAbsent => secrets.get(&name).await.is_ok(),
    };
    if !present {
        let owner = database.controller_owner_ref(&()).ok_or(Error::Unnamed)?;
        let password: String = std::iter::repeat_with(fastrand::alphanumeric).take(16).collect();
        let secret = Secret {
            metadata: ObjectMeta { name: Some(name.clone()), owner_references: Some(vec![owner]), ..<_>::default() },
            string_data: Some([("password".to_owned(), password)].into()),
            ..Secret::default()
        };
        match context.read {
            // Refused if the Secret is there, also for a process that was replaced and whose request arrives late.
            Read::Correct => secrets.create(&PostParams::default(), &secret).await?,
            Read::ErrorIsAbsent => {
                let params = PatchParams::apply("databases").force();
                secrets.patch(&name, &params, &Patch::Apply(secret)).await?
            }
        };
    }
    Ok(Action::await_change())
}
