//! Service account tokens: JWTs signed with a key that each server generates, or keeps in its data directory.

use std::sync::OnceLock;

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use ring::{
    rand::SystemRandom,
    signature::{
        ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair, UnparsedPublicKey,
    },
};
use serde_json::{Value, json};

/// The issuer of tokens unless another one is set.
const ISSUER: &str = "https://kubernetes.default.svc";

/// The issuer of tokens and its key.
#[derive(Debug)]
pub(crate) struct TokenSigner {
    issuer: String,
    /// Generated when first needed.
    key: OnceLock<EcdsaKeyPair>,
}

impl Default for TokenSigner {
    fn default() -> Self {
        Self { issuer: ISSUER.to_owned(), key: OnceLock::new() }
    }
}

impl TokenSigner {
    /// The signer of an ECDSA P-256 key.
    pub(crate) fn from_pem(pem: &str) -> Result<Self, String> {
        let key = rcgen::KeyPair::from_pem(pem).map_err(|why| why.to_string())?.serialize_der();
        let key = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &key, &SystemRandom::new());
        Ok(Self { key: key.map_err(|why| why.to_string())?.into(), ..Self::default() })
    }

    pub(crate) fn set_issuer(&mut self, issuer: String) {
        self.issuer = issuer;
    }

    /// Whether tokens are signed with this key.
    pub(crate) fn has_key(&self, pem: &str) -> bool {
        Self::from_pem(pem)
            .is_ok_and(|other| other.key().public_key().as_ref() == self.key().public_key().as_ref())
    }

    /// The issuer of tokens, which is also their default audience.
    pub(crate) fn issuer(&self) -> &str {
        &self.issuer
    }

    pub(crate) fn sign(&self, claims: &Value) -> String {
        let text = |value: &Value| BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", text(&json!({"alg": "ES256", "kid": "testserver"})), text(claims));
        let signature = self.key().sign(&SystemRandom::new(), signed.as_bytes());
        let signature = signature.expect("invariant: the system has random numbers");
        format!("{signed}.{}", BASE64_URL_SAFE_NO_PAD.encode(signature))
    }

    /// The claims of a token with a valid signature; expiry is not checked.
    pub(crate) fn verify(&self, token: &str) -> Option<Value> {
        let (signed, signature) = token.rsplit_once('.')?;
        let (_, claims) = signed.split_once('.')?;
        let bytes = |text: &str| BASE64_URL_SAFE_NO_PAD.decode(text).ok();
        let key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, self.key().public_key());
        key.verify(signed.as_bytes(), &bytes(signature)?).ok()?;
        serde_json::from_slice(&bytes(claims)?).ok()
    }

    fn key(&self) -> &EcdsaKeyPair {
        self.key.get_or_init(|| {
            let random = SystemRandom::new();
            let pkcs8 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random);
            let pkcs8 = pkcs8.expect("invariant: the system has random numbers");
            EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, pkcs8.as_ref(), &random)
                .expect("invariant: the key was made a line above")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_in_pem_is_shared_by_two_servers() {
        let pem = rcgen::KeyPair::generate().unwrap().serialize_pem();
        let token = TokenSigner::from_pem(&pem).unwrap().sign(&json!({"sub": "a"}));
        assert_eq!(TokenSigner::from_pem(&pem).unwrap().verify(&token), Some(json!({"sub": "a"})));
        assert!(TokenSigner::from_pem("no key").is_err());
    }

    #[test]
    fn only_own_signatures_verify() {
        let (here, elsewhere) = (TokenSigner::default(), TokenSigner::default());
        let claims = json!({"sub": "system:serviceaccount:a:b"});
        let token = here.sign(&claims);
        assert_eq!(here.verify(&token), Some(claims));
        assert_eq!(elsewhere.verify(&token), None);
        for wrong in ["", "a.b", "a.b.c", "..", &token[1..], &format!("{token}x")] {
            assert_eq!(here.verify(wrong), None, "{wrong}");
        }
    }
}
