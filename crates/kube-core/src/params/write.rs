//! Creating and replacing objects.

/// How an object is created or replaced. By default it is stored, under a field manager that the server derives.
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
    /// Lets the server do everything (defaults, validation, admission) but store the object; `dryRun=All` on the wire.
    pub dry_run: bool,
    /// Who makes the change, for the record of field owners (`metadata.managedFields`): at most 128 bytes of printable
    /// text. `None` lets the server derive it from the user agent, up to the first slash.
    pub field_manager: Option<String>,
}
