//! Changing parts of an object.

use serde::Serialize;

/// A change to an object, by the kind of its patch.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq)]
pub enum Patch<T: Serialize> {
    /// Server-side apply: the fields that this manager wants, all of them. The body must carry `apiVersion` and
    /// `kind`, the parameters a field manager; the object is created where it does not exist.
    Apply(T),
    /// JSON patch (RFC 6902): a list of operations.
    #[cfg(feature = "jsonpatch")]
    Json(json_patch::Patch),
    /// JSON merge patch (RFC 7396): null removes, lists are replaced.
    Merge(T),
    /// Strategic merge patch: as merge, but lists are merged by keys that the kind defines. Built-in kinds only.
    Strategic(T),
}

/// What the server does with fields that the kind does not have.
#[derive(Clone, Debug)]
pub enum ValidationDirective {
    /// Refuses the request.
    Strict,
    /// Drops them and answers with a warning.
    Warn,
    /// Drops them.
    Ignore,
}

impl ValidationDirective {
    /// As it is sent.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Strict => "Strict",
            Self::Warn => "Warn",
            Self::Ignore => "Ignore",
        }
    }
}

/// How a patch is carried out.
///
/// ```
/// use kube_core::params::PatchParams;
/// let pp = PatchParams::apply("my-controller").force();
/// assert_eq!(pp.field_manager.as_deref(), Some("my-controller"));
/// ```
#[derive(Clone, Debug, Default)]
pub struct PatchParams {
    /// Lets the server do everything but store the object.
    pub dry_run: bool,
    /// Takes fields over from other managers instead of failing with a conflict. Apply patches only.
    pub force: bool,
    /// Who makes the change: at most 128 bytes of printable text. Apply patches need it.
    pub field_manager: Option<String>,
    /// What the server does with unknown fields; `None` leaves it to the server, which warns.
    pub field_validation: Option<ValidationDirective>,
}

impl PatchParams {
    /// As this field manager, as apply patches need it.
    #[must_use]
    pub fn apply(manager: &str) -> Self {
        Self { field_manager: Some(manager.into()), ..Self::default() }
    }

    /// Takes fields over from other managers.
    #[must_use]
    pub fn force(mut self) -> Self {
        self.force = true;
        self
    }

    /// Lets the server do everything but store the object.
    #[must_use]
    pub fn dry_run(mut self) -> Self {
        self.dry_run = true;
        self
    }

    /// Says what the server does with unknown fields.
    pub fn validation(mut self, vd: ValidationDirective) -> Self {
        self.field_validation = Some(vd);
        self
    }

    /// Unknown fields are dropped in silence.
    #[must_use]
    pub fn validation_ignore(self) -> Self {
        self.validation(ValidationDirective::Ignore)
    }

    /// Unknown fields are dropped with a warning.
    #[must_use]
    pub fn validation_warn(self) -> Self {
        self.validation(ValidationDirective::Warn)
    }

    /// Unknown fields make the request fail.
    #[must_use]
    pub fn validation_strict(self) -> Self {
        self.validation(ValidationDirective::Strict)
    }
}
