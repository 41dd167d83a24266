use super::pki::Pki;
use crate::{User, ids};

/// A user and what proves it.
#[derive(Clone, Debug)]
pub(super) struct Identity {
    pub(super) user: User,
    pub(super) credential: Credential,
}

#[derive(Clone)]
pub(super) enum Credential {
    Token(String),
    Certificate { pem: String, key: String, der: Vec<u8> },
}

/// Gives every user a credential: their token, else a certificate where there is a CA, else a random token.
pub(super) fn issue(users: Vec<User>, pki: Option<&Pki>) -> Result<Vec<Identity>, rcgen::Error> {
    let credential = |user: &User| match (&user.token, pki) {
        (Some(token), _) => Ok(Credential::Token(token.clone())),
        (None, Some(pki)) => pki.issue(&user.name, &user.groups),
        (None, None) => Ok(Credential::Token(ids::uid())),
    };
    users.into_iter().map(|user| Ok(Identity { credential: credential(&user)?, user })).collect()
}

impl std::fmt::Debug for Credential {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Token(_) => "Token",
            Self::Certificate { .. } => "Certificate",
        })
    }
}
