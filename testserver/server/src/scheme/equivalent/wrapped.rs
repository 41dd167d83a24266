//! Conversion of kinds that wrap the fields of the stored kind.

use serde_json::{Map, Value};

/// List elements whose members are nested one level deeper in one of the two kinds.
#[derive(Debug)]
pub(super) struct WrappedElements {
    /// Pointer to the list.
    list: &'static str,
    /// The member that holds the nested members.
    wrapper: &'static str,
    /// Members that are not nested.
    beside: &'static [&'static str],
    /// Whether the stored kind has the wrapper, else the equivalent kind.
    stored: bool,
}

static CLAIMS: WrappedElements = WrappedElements {
    list: "/spec/devices/requests",
    wrapper: "exactly",
    beside: &["name", "firstAvailable"],
    stored: true,
};
static CLAIM_TEMPLATES: WrappedElements = WrappedElements { list: "/spec/spec/devices/requests", ..CLAIMS };
static SLICES: WrappedElements =
    WrappedElements { list: "/spec/devices", wrapper: "basic", beside: &["name"], stored: false };

/// The kinds of `resource.k8s.io` whose `v1beta1` differs from `v1`.
pub(super) fn of(plural: &str) -> Option<&'static WrappedElements> {
    match plural {
        "resourceclaims" => Some(&CLAIMS),
        "resourceclaimtemplates" => Some(&CLAIM_TEMPLATES),
        "resourceslices" => Some(&SLICES),
        _ => None,
    }
}

impl WrappedElements {
    pub(super) fn convert_from_storage(&self, object: &mut Value) {
        self.change(object, !self.stored);
    }

    pub(super) fn convert_to_storage(&self, object: &mut Value) {
        self.change(object, self.stored);
    }

    fn change(&self, object: &mut Value, wrap: bool) {
        let list = object.pointer_mut(self.list).and_then(Value::as_array_mut);
        for members in list.into_iter().flatten().filter_map(Value::as_object_mut) {
            if wrap {
                self.wrap(members);
            } else if let Some(Value::Object(inner)) = members.remove(self.wrapper) {
                members.extend(inner);
            }
        }
    }

    fn wrap(&self, members: &mut Map<String, Value>) {
        let (beside, inner): (Map<_, _>, Map<_, _>) =
            std::mem::take(members).into_iter().partition(|(name, _)| self.beside.contains(&name.as_str()));
        *members = beside;
        if !inner.is_empty() {
            members.insert(self.wrapper.into(), inner.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn wrapped_elements_round_trip() {
        let stored = json!({"spec": {"devices": {"requests": [
            {"name": "a", "exactly": {"deviceClassName": "c", "count": 2}}, {"name": "b", "firstAvailable": []}]}}});
        let served = json!({"spec": {"devices": {"requests": [
            {"name": "a", "deviceClassName": "c", "count": 2}, {"name": "b", "firstAvailable": []}]}}});
        let mut object = stored.clone();
        CLAIMS.convert_from_storage(&mut object);
        assert_eq!(object, served);
        CLAIMS.convert_to_storage(&mut object);
        assert_eq!(object, stored);

        let mut slice = json!({"spec": {"devices": [{"name": "d", "basic": {"capacity": {}}}]}});
        let served = slice.clone();
        SLICES.convert_to_storage(&mut slice);
        assert_eq!(slice, json!({"spec": {"devices": [{"name": "d", "capacity": {}}]}}));
        SLICES.convert_from_storage(&mut slice);
        assert_eq!(slice, served);
    }
}
