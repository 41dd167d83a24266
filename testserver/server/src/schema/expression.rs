//! What expressions of policies are for, and what they may ask.

/// The variable for the resource of a request. Its name has a dot.
pub(crate) const REQUEST_RESOURCE: &str = "authorizer.requestResource";

/// What an expression has to return.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Returns {
    Anything,
    Bool,
    String,
    StringOrNull,
}

/// The kind of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PolicyExpression {
    Plain,
    /// May construct `Object` and `JSONPatch`.
    Mutation,
}

/// The access that an expression asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct AccessCheck {
    /// A non-resource path; then the fields of resources are empty.
    pub(crate) path: String,
    pub(crate) group: String,
    pub(crate) resource: String,
    pub(crate) subresource: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) verb: String,
    /// Namespace and name of the service account; else the user of the request.
    pub(crate) service_account: Option<(String, String)>,
}

/// Returns the reason why an access is allowed, or `None`.
pub(crate) type Authorize = dyn Fn(&AccessCheck) -> Option<String> + Send + Sync;
