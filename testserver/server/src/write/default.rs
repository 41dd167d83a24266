//! The stage default: sets what the object leaves out.

use super::{ObjectWrite, object_write::Writer};
use crate::apply::Ownership;

impl ObjectWrite<'_> {
    pub(crate) fn default(&mut self) {
        let applied = match &self.writer {
            Writer::Client(client) => matches!(client.ownership, Ownership::FromApply(_)),
            Writer::Controller | Writer::Server => false,
        };
        self.kind.default(self.endpoint, &mut self.object, applied);
    }
}
