//! [`Status`] from the wire.

use serde::{Deserialize, Deserializer};

use super::{Status, StatusCause, StatusDetails};
use crate::fields::{self, Fields};

impl<'de> Deserialize<'de> for Status {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        fields::decode(deserializer, Self::read)
    }
}

impl<'de> Deserialize<'de> for StatusDetails {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        fields::decode(deserializer, Self::read)
    }
}

impl<'de> Deserialize<'de> for StatusCause {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        fields::decode(deserializer, Self::read)
    }
}

impl Status {
    fn read(fields: &Fields<'_>) -> Self {
        Self {
            status: fields.get("status"),
            code: fields.get("code"),
            message: fields.get("message"),
            metadata: fields.get("metadata"),
            reason: fields.get("reason"),
            details: fields.has("details").then(|| StatusDetails::read(&fields.object("details"))),
        }
    }
}

impl StatusDetails {
    fn read(fields: &Fields<'_>) -> Self {
        Self {
            name: fields.get("name"),
            group: fields.get("group"),
            kind: fields.get("kind"),
            uid: fields.get("uid"),
            causes: fields.objects("causes").iter().map(StatusCause::read).collect(),
            retry_after_seconds: fields.get("retryAfterSeconds"),
        }
    }
}

impl StatusCause {
    fn read(fields: &Fields<'_>) -> Self {
        Self { reason: fields.get("reason"), message: fields.get("message"), field: fields.get("field") }
    }
}
