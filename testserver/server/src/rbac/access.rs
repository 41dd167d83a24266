//! The access control of one server: credentials, the signer of tokens, and the authorizer over the stored roles.

use std::sync::{Arc, OnceLock};

use jiff::Timestamp;
use serde_json::Value;

use super::{Credentials, RbacAuthorizer, TokenSigner, User};
use crate::{
    scheme::Resource,
    storage::{Key, Storage},
};

/// The API group of roles and bindings.
pub(crate) const RBAC: &str = "rbac.authorization.k8s.io";

/// Who may use the server: credentials, the signer of tokens, and the authorizer.
#[derive(Debug)]
pub(crate) struct Access {
    /// Whether the server authenticates users and enforces RBAC.
    pub(crate) rbac: bool,
    pub(crate) credentials: Credentials,
    pub(crate) token_signer: TokenSigner,
    /// Built when first needed after a change of an RBAC object.
    authorizer: OnceLock<Arc<RbacAuthorizer>>,
    /// PEM of the CA certificate that pods get; empty without TLS.
    pub(crate) ca: String,
}

impl Access {
    pub(crate) fn new(rbac: bool) -> Self {
        Self {
            rbac,
            credentials: Credentials::default(),
            token_signer: TokenSigner::default(),
            authorizer: OnceLock::new(),
            ca: String::new(),
        }
    }

    /// Whether the server authenticates users and enforces RBAC.
    pub(crate) fn enforces_rbac(&self) -> bool {
        self.rbac
    }

    /// The authorizer over the RBAC objects; built when first needed after a change.
    pub(crate) fn authorizer(&self, storage: &Storage) -> Arc<RbacAuthorizer> {
        let read = || {
            let kinds = ["clusterroles", "clusterrolebindings", "roles", "rolebindings"];
            let tables = kinds.iter().filter_map(|plural| storage.table(RBAC, plural));
            let objects =
                tables.flat_map(|table| storage.store.objects(table, None)).map(|stored| stored.value());
            Arc::new(RbacAuthorizer::read(objects))
        };
        self.authorizer.get_or_init(read).clone()
    }

    /// Drops the authorizer when an RBAC object changes.
    pub(crate) fn observe(&mut self, resource: &Resource) {
        if resource.group == RBAC {
            self.reset();
        }
    }

    /// Drops what was read from the objects.
    pub(crate) fn reset(&mut self) {
        self.authorizer.take();
    }

    /// Authenticates a bearer token for one of the audiences. `Err` is the message of the refusal.
    pub(crate) fn authenticate_token(
        &self,
        storage: &Storage,
        now: Timestamp,
        token: &str,
        audiences: &[&str],
    ) -> Result<(Arc<User>, Vec<String>), String> {
        const INVALID: &str = "invalid bearer token";
        let own = [self.token_signer.issuer()];
        let audiences = if audiences.is_empty() { &own } else { audiences };
        if let Some(user) = self.credentials.token(token) {
            return Ok((user, vec![own[0].into()]));
        }
        let claims = self.token_signer.verify(token).ok_or(INVALID)?;
        let user = account_of(storage, now, &claims).ok_or(INVALID)?;
        let meant: Vec<&str> =
            claims["aud"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let both: Vec<String> =
            meant.iter().filter(|one| audiences.contains(one)).map(|&one| one.into()).collect();
        if both.is_empty() {
            return Err(format!(
                "[{INVALID}, token audiences {meant:?} is invalid for the target audiences {audiences:?}]"
            ));
        }
        Ok((Arc::new(user), both))
    }
}

/// The service account of a token. `None` when the token has expired, or the account or the object it is bound to no longer exists.
fn account_of(storage: &Storage, now: Timestamp, claims: &Value) -> Option<User> {
    let about = &claims["kubernetes.io"];
    if now.as_second() >= claims["exp"].as_i64()? {
        return None;
    }
    let namespace = about["namespace"].as_str()?;
    for (claim, plural) in [("serviceaccount", "serviceaccounts"), ("pod", "pods"), ("secret", "secrets")] {
        if let Some(name) = about[claim]["name"].as_str() {
            let object = storage.object("", plural, &Key::new(Some(namespace), name))?;
            if about[claim]["uid"] != *object.uid {
                return None;
            }
        }
    }
    let account = &about["serviceaccount"];
    let mut user =
        User::of_service_account(namespace, account["name"].as_str()?).uid(account["uid"].as_str()?);
    let id = &about["pod"];
    if let (Some(name), Some(uid)) = (id["name"].as_str(), id["uid"].as_str()) {
        user = user.extra("authentication.kubernetes.io/pod-name", name);
        user = user.extra("authentication.kubernetes.io/pod-uid", uid);
    }
    Some(user.with_implicit_group())
}
