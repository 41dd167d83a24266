//! A case: a rule, the function that checks it, and the kind it uses.

use std::sync::Arc;

use futures::future::BoxFuture;

use crate::{
    check::Outcome,
    context::Context,
    subject::{Need, Subject},
};

type Run = Arc<dyn Fn(Context) -> BoxFuture<'static, Outcome> + Send + Sync>;

/// A rule and the code that checks it.
#[derive(Clone)]
pub(crate) struct Case {
    pub(crate) id: String,
    pub(crate) rule: String,
    pub(crate) needs: Vec<Need>,
    pub(crate) subject: Subject,
    /// Kind, field and reason of a rule that the embedded server is known not to check.
    pub(crate) unchecked: Option<[String; 3]>,
    pub(crate) run: Run,
}

impl Case {
    /// `id` is `area/short-name-of-the-rule`.
    pub(crate) fn area(&self) -> &str {
        self.id.split('/').next().unwrap_or_default()
    }

    fn new<F, R>(id: String, rule: &str, subject: Subject, needs: Vec<Need>, run: F) -> Self
    where
        F: Fn(Context) -> R + Send + Sync + 'static,
        R: Future<Output = Outcome> + Send + 'static,
    {
        Self {
            id,
            rule: rule.to_owned(),
            needs,
            subject,
            unchecked: None,
            run: Arc::new(move |cx| Box::pin(run(cx))),
        }
    }
}

/// A rule of custom resources or of the whole server: applies to every server.
pub(crate) fn custom<F, R>(id: &str, rule: &str, run: F) -> Vec<Case>
where
    F: Fn(Context) -> R + Send + Sync + 'static,
    R: Future<Output = Outcome> + Send + 'static,
{
    vec![Case::new(id.to_owned(), rule, Subject::Custom, Vec::new(), run)]
}

/// A rule of built-in kinds: needs a server with them.
pub(crate) fn core<F, R>(id: &str, rule: &str, run: F) -> Vec<Case>
where
    F: Fn(Context) -> R + Send + Sync + 'static,
    R: Future<Output = Outcome> + Send + 'static,
{
    vec![Case::new(id.to_owned(), rule, Subject::Builtin, vec![Need::CoreKinds], run)]
}

/// A rule of the whole server with a requirement.
pub(crate) fn needing<F, R>(need: Need, id: &str, rule: &str, run: F) -> Vec<Case>
where
    F: Fn(Context) -> R + Send + Sync + 'static,
    R: Future<Output = Outcome> + Send + 'static,
{
    vec![Case::new(id.to_owned(), rule, Subject::Custom, vec![need], run)]
}

/// A rule of every kind: one case on the custom resource, one on the built-in kind.
pub(crate) fn each<F, R>(id: &str, rule: &str, run: F) -> Vec<Case>
where
    F: Fn(Context) -> R + Clone + Send + Sync + 'static,
    R: Future<Output = Outcome> + Send + 'static,
{
    vec![
        Case::new(format!("{id}@custom"), rule, Subject::Custom, Vec::new(), run.clone()),
        Case::new(format!("{id}@builtin"), rule, Subject::Builtin, vec![Need::CoreKinds], run),
    ]
}

/// Cases of a rule that servers follow since 1.`minor`: they do not apply to older ones, whatever those do instead.
pub(crate) fn since(minor: u32, mut cases: Vec<Case>) -> Vec<Case> {
    cases.iter_mut().for_each(|case| case.needs.push(Need::Since(minor)));
    cases
}
