//! Tokens of service accounts, and approvals of certificate signing requests.

use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use k8s_openapi::api::core::v1::ServiceAccount;
use kube_core::params::{Patch, PatchParams, PostParams};
use serde::Serialize;

use crate::Result;
use crate::api::Api;
use crate::error::Error;

impl Api<ServiceAccount> {
    /// Requests a token of the service account `name`; it is in the status of the result.
    ///
    /// ```
    /// use k8s_openapi::api::authentication::v1::TokenRequest;
    /// use k8s_openapi::api::core::v1::ServiceAccount;
    /// use kube_client::api::PostParams;
    /// use kube_client::{Api, Client};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let client = Client::new(kube_testserver::ApiServer::new(), "default");
    /// # let robot: ServiceAccount = serde_json::from_str(r#"{"metadata":{"name":"robot"}}"#)?;
    /// # Api::default_namespaced(client.clone()).create(&Default::default(), &robot).await?;
    ///
    /// let accounts: Api<ServiceAccount> = Api::default_namespaced(client);
    /// let issued = accounts.create_token_request("robot", &PostParams::default(), &TokenRequest::default()).await?;
    /// assert!(issued.status.and_then(|status| status.token).is_some());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Api::create`].
    pub async fn create_token_request(
        &self,
        name: &str,
        pp: &PostParams,
        token_request: &TokenRequest,
    ) -> Result<TokenRequest> {
        let body = serde_json::to_vec(token_request).map_err(Error::SerdeError)?;
        self.call("create_token_request", self.request.create_subresource("token", name, pp, body)).await
    }
}

impl Api<CertificateSigningRequest> {
    /// Reads the certificate signing request `name` through its `approval` subresource.
    ///
    /// # Errors
    /// As [`Api::get`].
    pub async fn get_approval(&self, name: &str) -> Result<CertificateSigningRequest> {
        self.call("get_approval", self.request.get_subresource("approval", name)).await
    }

    /// Approves or denies the certificate signing request `name`: the patch sets a condition in its status.
    ///
    /// # Errors
    /// As [`Api::patch`].
    pub async fn patch_approval<P: Serialize>(
        &self,
        name: &str,
        pp: &PatchParams,
        patch: &Patch<P>,
    ) -> Result<CertificateSigningRequest> {
        self.call("patch_approval", self.request.patch_subresource("approval", name, pp, patch)).await
    }
}
