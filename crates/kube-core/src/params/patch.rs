//! Changing parts of an object.

use serde::Serialize;

/// A change to an object, by the kind of its patch, which decides over the content type of the request.
///
/// `T` is anything that serializes: `serde_json::Value`, or a type of which all fields that are not meant are absent.
///
/// ```
/// use kube_core::{Request, params::{Patch, PatchParams}};
/// use serde_json::json;
///
/// let maps = Request::new("/api/v1/namespaces/web/configmaps");
/// let content_type = |patch, pp| Ok::<_, kube_core::request::Error>({
///     maps.patch("settings", &pp, &patch)?.headers()["content-type"].to_str().expect("ASCII").to_owned()
/// });
///
/// // Removes one key and keeps the others.
/// let merge = Patch::Merge(json!({"data": {"colour": null}}));
/// assert_eq!(content_type(merge, PatchParams::default())?, "application/merge-patch+json");
///
/// let strategic = Patch::Strategic(json!({"metadata": {"finalizers": ["example.com/keep"]}}));
/// assert_eq!(content_type(strategic, PatchParams::default())?, "application/strategic-merge-patch+json");
///
/// let apply = Patch::Apply(json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"colour": "blue"}}));
/// assert_eq!(content_type(apply, PatchParams::apply("my-controller"))?, "application/apply-patch+yaml");
///
/// # #[cfg(feature = "jsonpatch")]
/// # {
/// // Feature `jsonpatch`. The test makes the patch fail where another has been faster.
/// let operations = serde_json::from_value(json!([
///     {"op": "test", "path": "/data/colour", "value": "blue"},
///     {"op": "replace", "path": "/data/colour", "value": "red"},
/// ])).expect("a valid patch");
/// assert_eq!(content_type(Patch::Json(operations), PatchParams::default())?, "application/json-patch+json");
/// # }
/// # Ok::<(), kube_core::request::Error>(())
/// ```
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq)]
pub enum Patch<T: Serialize> {
    /// Server-side apply: the fields that this manager wants, all of them; those it wanted before and no longer names
    /// are removed. The body must carry `apiVersion` and `kind` and no `metadata.managedFields`, the parameters a field
    /// manager; the object is created where it does not exist. 409 where another manager owns a field.
    Apply(T),
    /// JSON patch (RFC 6902): a list of operations, of which all are done or none; 422 where one cannot be.
    #[cfg(feature = "jsonpatch")]
    Json(json_patch::Patch),
    /// JSON merge patch (RFC 7396): null removes, lists are replaced whole.
    Merge(T),
    /// Strategic merge patch: as merge, but lists are merged by keys that the kind defines. Built-in kinds only: 415
    /// for custom resources.
    Strategic(T),
}

/// What the server does with fields that the kind does not have, and with fields given twice: `fieldValidation` on the
/// wire. Kubernetes 1.25 and later heed it; older servers drop such fields in silence.
///
/// ```
/// use kube_core::params::{PatchParams, ValidationDirective};
///
/// let sent = |pp: PatchParams| pp.field_validation.map(|directive| directive.as_str().to_owned());
/// assert_eq!(sent(PatchParams::default()), None);
/// assert_eq!(sent(PatchParams::default().validation_strict()).as_deref(), Some("Strict"));
/// assert_eq!(sent(PatchParams::default().validation_warn()).as_deref(), Some("Warn"));
/// assert_eq!(sent(PatchParams::default().validation_ignore()).as_deref(), Some("Ignore"));
/// assert_eq!(sent(PatchParams::default().validation(ValidationDirective::Strict)).as_deref(), Some("Strict"));
/// ```
#[derive(Clone, Debug)]
pub enum ValidationDirective {
    /// Refuses the request, naming all of them.
    Strict,
    /// Drops them and names each in a `Warning` header of the answer.
    Warn,
    /// Drops them in silence.
    Ignore,
}

impl ValidationDirective {
    /// The word on the wire: the name of the variant.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Strict => "Strict",
            Self::Warn => "Warn",
            Self::Ignore => "Ignore",
        }
    }
}

/// How a patch is carried out. By default it is stored, under a field manager that the server derives.
///
/// ```
/// use kube_core::{Request, params::{Patch, PatchParams}};
///
/// let maps = Request::new("/api/v1/namespaces/web/configmaps");
/// let patch = Patch::Apply(serde_json::json!({"apiVersion": "v1", "kind": "ConfigMap"}));
/// let pp = PatchParams::apply("my-controller").force().dry_run();
/// let request = maps.patch("settings", &pp, &patch)?;
/// assert_eq!(request.uri().query(), Some("&dryRun=All&force=true&fieldManager=my-controller"));
/// # Ok::<(), kube_core::request::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct PatchParams {
    /// Lets the server do everything (defaults, validation, admission) but store the object; `dryRun=All` on the wire.
    pub dry_run: bool,
    /// Takes fields over from other managers instead of failing with a conflict, as controllers should do with the
    /// fields they decide over. Apply patches only; any other is refused.
    pub force: bool,
    /// Who makes the change: at most 128 bytes of printable text. Apply patches need it, and always the same: a
    /// manager of another name neither gives up the fields of the former nor may change them.
    pub field_manager: Option<String>,
    /// What the server does with unknown fields; `None` leaves it to the server, which warns.
    pub field_validation: Option<ValidationDirective>,
}

impl PatchParams {
    /// As this field manager, with defaults for all else.
    #[must_use]
    pub fn apply(manager: &str) -> Self {
        Self { field_manager: Some(manager.into()), ..Self::default() }
    }

    /// Sets [`force`](Self::force): takes fields over from other managers.
    #[must_use]
    pub fn force(mut self) -> Self {
        self.force = true;
        self
    }

    /// Sets [`dry_run`](Self::dry_run): nothing is stored.
    #[must_use]
    pub fn dry_run(mut self) -> Self {
        self.dry_run = true;
        self
    }

    /// Sets [`field_validation`](Self::field_validation).
    pub fn validation(mut self, vd: ValidationDirective) -> Self {
        self.field_validation = Some(vd);
        self
    }

    /// Sets [`ValidationDirective::Ignore`]: unknown fields are dropped in silence.
    #[must_use]
    pub fn validation_ignore(self) -> Self {
        self.validation(ValidationDirective::Ignore)
    }

    /// Sets [`ValidationDirective::Warn`]: unknown fields are dropped with a warning.
    #[must_use]
    pub fn validation_warn(self) -> Self {
        self.validation(ValidationDirective::Warn)
    }

    /// Sets [`ValidationDirective::Strict`]: unknown fields make the request fail.
    #[must_use]
    pub fn validation_strict(self) -> Self {
        self.validation(ValidationDirective::Strict)
    }
}
