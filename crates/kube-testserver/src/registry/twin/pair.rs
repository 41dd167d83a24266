use kube_core::Version;
use serde_json::Value;

use super::{
    autoscaler,
    names::{self, Names},
    wrapped::{self, Wrapped},
};
use crate::{
    meta,
    registry::builtin::{Kind, kinds},
};

/// A built-in kind whose objects are those of another kind, seen in another form.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Twin {
    /// The kind that is stored.
    pub(crate) original: &'static Kind,
    form: Form,
}

/// In what the two differ, besides the name of the version.
#[derive(Clone, Copy, Debug)]
enum Form {
    Nothing,
    Names(&'static Names),
    Wrapped(&'static Wrapped),
    Autoscaler,
}

/// Whose twin a built-in kind is, if it is one: that of another group, or that of its own newest version.
pub(crate) fn of(kind: &Kind) -> Option<Twin> {
    let versions = kinds().iter().filter(|other| other.group == kind.group && other.plural == kind.plural);
    let newest = versions.map(|other| other.version).max_by_key(|name| Version::parse(name).priority())?;
    let (group, version, form) = match (kind.group, kind.plural, kind.version) {
        ("events.k8s.io", "events", _) => ("", "v1", Form::Names(&names::EVENTS)),
        ("autoscaling", "horizontalpodautoscalers", "v1") => (kind.group, "v2", Form::Autoscaler),
        ("resource.k8s.io", plural, "v1beta1") => {
            (kind.group, newest, wrapped::of(plural).map_or(Form::Nothing, Form::Wrapped))
        }
        _ => (kind.group, newest, Form::Nothing),
    };
    let is_original = |other: &&Kind| {
        other.group == group && other.version == version && other.plural == kind.plural && *other != kind
    };
    Some(Twin { original: kinds().iter().find(is_original)?, form })
}

impl Twin {
    /// A stored object in the form of the twin.
    pub(crate) fn shown(&self, mut object: Value, api_version: &str) -> Value {
        match self.form {
            Form::Nothing => {}
            Form::Names(names) => names.show(&mut object),
            Form::Wrapped(wrapped) => wrapped.show(&mut object),
            Form::Autoscaler => autoscaler::show(&mut object),
        }
        object["apiVersion"] = api_version.into();
        object
    }

    /// An object of the twin as it is stored.
    pub(crate) fn stored(&self, mut object: Value) -> Value {
        match self.form {
            Form::Nothing => {}
            Form::Names(names) => names.store(&mut object),
            Form::Wrapped(wrapped) => wrapped.store(&mut object),
            Form::Autoscaler => autoscaler::store(&mut object),
        }
        object["apiVersion"] = meta::api_version(self.original.group, self.original.version).into();
        object
    }

    /// A path of the twin as it is stored.
    pub(crate) fn stored_path(&self, path: &str) -> String {
        match self.form {
            Form::Names(names) => names.stored_path(path),
            _ => path.to_owned(),
        }
    }
}
