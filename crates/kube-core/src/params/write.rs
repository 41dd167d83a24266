//! Creating, replacing and patching objects.

use serde::Serialize;

/// Options of creating or replacing an object. By default it is stored, with a field manager that the server derives.
///
/// ```
/// use kube_core::{Request, params::PostParams};
///
/// let maps = Request::new("/api/v1/namespaces/web/configmaps");
/// let pp = PostParams { dry_run: true, field_manager: Some("my-controller".into()) };
/// let create = maps.create(&pp, br#"{"metadata": {"name": "a"}}"#.to_vec())?;
/// assert_eq!(create.uri().query(), Some("&dryRun=All&fieldManager=my-controller"));
/// let anonymous = PostParams { field_manager: Some("x".repeat(129)), ..PostParams::default() };
/// assert!(maps.create(&anonymous, Vec::new()).is_err(), "longer than 128 bytes");
/// # Ok::<(), kube_core::request::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PostParams {
    /// The server processes the request (defaults, validation, admission) but stores nothing; `dryRun=All` on the wire.
    pub dry_run: bool,
    /// The field manager to record in `metadata.managedFields`: at most 128 bytes of printable text. If `None`, the server
    /// derives it from the user agent, up to the first slash.
    pub field_manager: Option<String>,
}

/// A patch of an object. The variant determines the content type of the request.
///
/// `T` is any type that serializes: `serde_json::Value`, or a type that omits all fields that the patch is not to change.
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
/// // Feature `jsonpatch`. The `test` operation makes the patch fail after a concurrent change.
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
    /// Server-side apply: all fields that this field manager wants. Fields that it applied before and that are missing now are
    /// removed. The body must have `apiVersion` and `kind` and no `metadata.managedFields`, the parameters must have a field
    /// manager. The object is created if it does not exist. The response is 409 if another manager owns a field.
    Apply(T),
    /// JSON patch (RFC 6902): a list of operations, applied atomically; 422 if one fails.
    #[cfg(feature = "jsonpatch")]
    Json(json_patch::Patch),
    /// JSON merge patch (RFC 7396): null removes a field, lists are replaced.
    Merge(T),
    /// Strategic merge patch: like merge, but lists are merged by keys that the kind defines. Built-in kinds only: 415 for
    /// custom resources.
    Strategic(T),
}

/// How the server treats unknown and duplicate fields: `fieldValidation` on the wire. Supported since Kubernetes 1.25; older
/// servers drop such fields silently.
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
    /// Fails the request; the error names all of them.
    Strict,
    /// Drops them, with a `Warning` header for each in the response.
    Warn,
    /// Drops them silently.
    Ignore,
}

impl ValidationDirective {
    /// The value on the wire: the variant's name.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Strict => "Strict",
            Self::Warn => "Warn",
            Self::Ignore => "Ignore",
        }
    }
}

/// Options of a patch. By default it is stored, with a field manager that the server derives.
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
    /// The server processes the request (defaults, validation, admission) but stores nothing; `dryRun=All` on the wire.
    pub dry_run: bool,
    /// Takes ownership of fields of other managers instead of failing with a conflict, as controllers should do for the fields
    /// that they control. For apply patches only; an error with any other.
    pub force: bool,
    /// The field manager: at most 128 bytes of printable text. Required for apply patches. Keep it the same: a manager with a
    /// new name neither removes the fields of the old one nor may change them.
    pub field_manager: Option<String>,
    /// How the server treats unknown fields; `None` for the server's default, which is to warn.
    pub field_validation: Option<ValidationDirective>,
}

impl PatchParams {
    /// With this field manager, and defaults for the rest.
    #[must_use]
    pub fn apply(manager: &str) -> Self {
        Self { field_manager: Some(manager.into()), ..Self::default() }
    }

    /// Sets [`force`](Self::force): takes ownership of fields of other managers.
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

    /// Sets [`ValidationDirective::Ignore`]: unknown fields are dropped silently.
    #[must_use]
    pub fn validation_ignore(self) -> Self {
        self.validation(ValidationDirective::Ignore)
    }

    /// Sets [`ValidationDirective::Warn`]: unknown fields are dropped with a warning.
    #[must_use]
    pub fn validation_warn(self) -> Self {
        self.validation(ValidationDirective::Warn)
    }

    /// Sets [`ValidationDirective::Strict`]: unknown fields fail the request.
    #[must_use]
    pub fn validation_strict(self) -> Self {
        self.validation(ValidationDirective::Strict)
    }
}
