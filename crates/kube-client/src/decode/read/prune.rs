//! Fields that are skipped while decoding.

use std::fmt;
use std::sync::Arc;

/// Fields of objects that are skipped when they are decoded: they are never allocated. By default none.
///
/// For [`Api::prune`](crate::Api::prune), and the configuration of watchers and controllers. A typed object must be able to do without
/// the field: its type has to have a default for it, as all types of `k8s-openapi` have.
///
/// # Cost
/// The server still sends the fields. Skipping is faster than decoding, and saves the memory of the fields.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube_client::{Api, Client, api::PostParams, client::Prune};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let client = Client::new(kube_testserver::ApiServer::new(), "default");
///
/// let maps: Api<ConfigMap> = Api::default_namespaced(client);
/// let mut map = ConfigMap::default();
/// map.metadata.name = Some("settings".into());
/// map.data = Some([("colour".to_owned(), "blue".to_owned())].into());
/// maps.create(&PostParams::default(), &map).await?;
///
/// let pruned = maps.prune(Prune::default().managed_fields().path(["data"])).get("settings").await?;
/// assert_eq!((pruned.metadata.managed_fields, pruned.data), (None, None));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Prune {
    /// `None`: nothing is skipped.
    fields: Option<Arc<PrunedFields>>,
}

/// The fields of a map that are skipped, or that contain such fields. In the order of their names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PrunedFields(Vec<(Box<str>, PrunedField)>);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PrunedField {
    Skipped,
    Within(PrunedFields),
}

impl Prune {
    /// Skips `metadata.managedFields`, often a third of an object and more of its memory. Only server-side apply needs them, on the server.
    #[must_use]
    pub fn managed_fields(self) -> Self {
        self.path(["metadata", "managedFields"])
    }

    /// Whether `metadata.managedFields` are skipped, so that the server need not send them.
    pub(crate) fn skips_managed_fields(&self) -> bool {
        let metadata = self.fields().and_then(|fields| fields.get("metadata"));
        match metadata {
            Some(PrunedField::Skipped) => true,
            Some(PrunedField::Within(fields)) => fields.get("managedFields") == Some(&PrunedField::Skipped),
            None => false,
        }
    }

    /// Skips the annotation in which `kubectl apply` leaves a copy of the object, `kubectl.kubernetes.io/last-applied-configuration`.
    #[must_use]
    pub fn last_applied(self) -> Self {
        self.path(["metadata", "annotations", "kubectl.kubernetes.io/last-applied-configuration"])
    }

    /// Skips `status`.
    #[must_use]
    pub fn status(self) -> Self {
        self.path(["status"])
    }

    /// Skips the field at this path of names. In an array, the path goes on in each element:
    /// `["spec", "containers", "env"]` skips the environment of each container. An empty path skips nothing.
    #[must_use]
    pub fn path<'a>(mut self, names: impl IntoIterator<Item = &'a str>) -> Self {
        let names: Vec<&str> = names.into_iter().collect();
        if !names.is_empty() {
            Arc::make_mut(self.fields.get_or_insert_default()).skip(&names);
        }
        self
    }

    /// Skips what either of them skips.
    #[must_use]
    pub fn and(mut self, other: &Self) -> Self {
        if let Some(other) = &other.fields {
            Arc::make_mut(self.fields.get_or_insert_default()).add(other);
        }
        self
    }

    /// The same for the object in a watch event.
    pub(in crate::decode) fn within_event(&self) -> Self {
        let fields = self.fields.as_deref().cloned();
        let event = |object| PrunedFields(vec![("object".into(), PrunedField::Within(object))]);
        Self { fields: fields.map(|object| Arc::new(event(object))) }
    }

    /// The fields of the outermost value, if anything is skipped.
    pub(super) fn fields(&self) -> Option<&PrunedFields> {
        self.fields.as_deref()
    }
}

/// The paths, such as `metadata.managedFields`.
impl fmt::Debug for Prune {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut paths = Vec::new();
        self.fields().into_iter().for_each(|fields| fields.collect_paths("", &mut paths));
        f.debug_tuple("Prune").field(&paths).finish()
    }
}

impl PrunedFields {
    /// What is skipped of the field `name`.
    pub(super) fn get(&self, name: &str) -> Option<&PrunedField> {
        // There are a few at most, so a search by halves would not be faster.
        self.0.iter().find(|(known, _)| **known == *name).map(|(_, field)| field)
    }

    /// Skips the field at this path, which is not empty.
    fn skip(&mut self, names: &[&str]) {
        let [name, rest @ ..] = names else { return };
        let field = self.entry(name);
        match (rest, &mut *field) {
            ([], _) => *field = PrunedField::Skipped,
            (_, PrunedField::Within(fields)) => fields.skip(rest),
            (_, PrunedField::Skipped) => {} // it is skipped with the whole
        }
    }

    fn add(&mut self, other: &Self) {
        for (name, added) in &other.0 {
            let field = self.entry(name);
            match (added, &mut *field) {
                (PrunedField::Skipped, _) => *field = PrunedField::Skipped,
                (PrunedField::Within(added), PrunedField::Within(fields)) => fields.add(added),
                (PrunedField::Within(_), PrunedField::Skipped) => {}
            }
        }
    }

    /// The field `name`, of which nothing is skipped if it is new.
    fn entry(&mut self, name: &str) -> &mut PrunedField {
        let at = self.0.binary_search_by(|(known, _)| (**known).cmp(name)).unwrap_or_else(|at| {
            self.0.insert(at, (name.into(), PrunedField::Within(Self::default())));
            at
        });
        &mut self.0[at].1
    }

    fn collect_paths(&self, prefix: &str, paths: &mut Vec<String>) {
        for (name, field) in &self.0 {
            match field {
                PrunedField::Skipped => paths.push(format!("{prefix}{name}")),
                PrunedField::Within(fields) => fields.collect_paths(&format!("{prefix}{name}."), paths),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_add_up_in_any_order() {
        let one = Prune::default().status().managed_fields().path(["spec", "a"]);
        let two = Prune::default().path(["spec", "a"]).managed_fields().status().status();
        assert_eq!(one, two);
        assert_eq!(format!("{one:?}"), r#"Prune(["metadata.managedFields", "spec.a", "status"])"#);
        assert_eq!(
            Prune::default().status().and(&Prune::default().path(["spec", "a"]).managed_fields()),
            one
        );
        assert_eq!(Prune::default().path([]), Prune::default());
    }

    #[test]
    fn the_server_need_not_send_managed_fields_that_are_skipped_whole() {
        let path = |names: &[&'static str]| Prune::default().path(names.iter().copied());
        assert!(Prune::default().status().managed_fields().skips_managed_fields());
        assert!(path(&["metadata"]).skips_managed_fields());
        for prune in
            [Prune::default(), Prune::default().last_applied(), path(&["metadata", "managedFields", "time"])]
        {
            assert!(!prune.skips_managed_fields(), "{prune:?}");
        }
    }

    #[test]
    fn a_skipped_field_covers_the_fields_in_it() {
        let whole = Prune::default().path(["spec"]);
        assert_eq!(whole.clone().path(["spec", "a"]), whole);
        assert_eq!(Prune::default().path(["spec", "a"]).path(["spec"]), whole);
        assert_eq!(Prune::default().path(["spec", "a"]).and(&whole), whole);
        assert_eq!(whole.clone().and(&Prune::default().path(["spec", "a"])), whole);
    }
}
