//! Authentication: client certificates, tokens, and credentials that the server rejects.

use anyhow::Context as _;
use futures::FutureExt as _;
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::{ConfigMap, ServiceAccount};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DeleteParams, ListParams, ObjectMeta, PostParams};
use kube::{Api, Client};

use crate::test_env::{Requires, rejection, run, unique};
use crate::users::UserServer;

type Crds = Api<CustomResourceDefinition>;

async fn list(client: &Client) -> kube::Result<()> {
    Crds::all(client.clone()).list(&ListParams::default().limit(1)).await.map(drop)
}

/// Deletes a CRD that does not exist: 404 for a user who may delete, 403 for any other.
async fn delete(client: &Client) -> anyhow::Result<kube::core::Status> {
    let name = "nothing.credentials.example.com";
    rejection(Crds::all(client.clone()).delete(name, &DeleteParams::default()).await)
}

#[test]
fn certificates_and_tokens_authenticate_their_user() -> anyhow::Result<()> {
    run(Requires::CustomResources, |env| {
        async move {
            let Some(users) = UserServer::start(env).await? else { return Ok(()) };
            for (context, code) in
                [("admin", 404), ("token-admin", 404), ("viewer", 403), ("token-viewer", 403)]
            {
                let client = Client::try_from(users.config(context).await?)?;
                list(&client).await.with_context(|| context.to_owned())?;
                let status = delete(&client).await?;
                assert_eq!(status.code, code, "{context}: {status:?}");
                if code == 403 {
                    assert_eq!(status.reason, "Forbidden");
                    assert!(status.message.contains(&format!("User \"{context}\"")), "{}", status.message);
                }
            }
            let unprivileged = Client::try_from(users.config("token-nobody").await?)?;
            assert_eq!(rejection(list(&unprivileged).await)?.code, 403);
            let mut unknown = users.config("token-nobody").await?;
            unknown.auth_info.token = Some("no-such-token".to_owned().into());
            let status = rejection(list(&Client::try_from(unknown)?).await)?;
            assert_eq!((status.code, status.reason.as_str()), (401, "Unauthorized"));
            Ok(())
        }
        .boxed()
    })
}

#[test]
fn a_requested_token_authenticates_from_a_file() -> anyhow::Result<()> {
    run(Requires::CoreKinds, |env| {
        async move {
            let Some(users) = UserServer::start(env).await? else { return Ok(()) };
            let admin = Client::try_from(users.config("admin").await?)?;
            let accounts: Api<ServiceAccount> = Api::namespaced(admin.clone(), &users.namespace);
            let name = unique("robot");
            let account = ServiceAccount {
                metadata: ObjectMeta { name: Some(name.clone()), ..ObjectMeta::default() },
                ..ServiceAccount::default()
            };
            accounts.create(&PostParams::default(), &account).await?;
            let request = TokenRequest {
                spec: Some(TokenRequestSpec { expiration_seconds: Some(600), ..TokenRequestSpec::default() }),
                ..TokenRequest::default()
            };
            let response = accounts.create_token_request(&name, &PostParams::default(), &request).await?;
            let status = response.status.context("the response has a status")?;
            let token = status.token.context("the status has a token")?;

            let folder = std::env::temp_dir().join(&name);
            std::fs::create_dir_all(&folder)?;
            std::fs::write(folder.join("token"), format!("{token}\n"))?;
            let mut config = users.config("token-nobody").await?;
            config.auth_info.token = None;
            config.auth_info.token_file = folder.join("token").to_str().map(str::to_owned);
            let maps: Api<ConfigMap> = Api::namespaced(Client::try_from(config)?, &users.namespace);
            let status = rejection(maps.list(&ListParams::default()).await)?;
            std::fs::remove_dir_all(&folder)?;
            let user = format!("system:serviceaccount:{}:{name}", users.namespace);
            assert!(status.code == 403 && status.message.contains(&user), "{status:?}");
            accounts.delete(&name, &DeleteParams::default()).await?;
            Ok(())
        }
        .boxed()
    })
}

#[cfg(feature = "openssl")]
mod openssl {
    use super::*;
    use kube::Config;
    use kube::client::{Body, ClientBuilder, ConfigExt as _};
    use kube::error::ErrorChain;

    #[test]
    fn openssl_authenticates_and_verifies_the_server() -> anyhow::Result<()> {
        run(Requires::CustomResources, |env| {
            async move {
                let Some(users) = UserServer::start(env).await? else { return Ok(()) };
                let over_openssl = |config: &Config| -> anyhow::Result<Client> {
                    let http =
                        hyper_util::client::legacy::Client::builder(hyper_util::rt::TokioExecutor::new())
                            .build::<_, Body>(config.openssl_https_connector()?);
                    Ok(ClientBuilder::new(http, "default").with_layer(&config.base_uri_layer()).build())
                };
                let mut config = users.config("viewer").await?;
                let client = over_openssl(&config)?;
                list(&client).await?;
                assert!(delete(&client).await?.message.contains("User \"viewer\""));
                config.root_cert = None;
                let outcome = list(&over_openssl(&config)?).await;
                let error = outcome.expect_err("the server certificate is not trusted");
                let text = ErrorChain(&error).to_string();
                assert!(text.contains("certificate verify failed"), "{text}");
                Ok(())
            }
            .boxed()
        })
    }
}
