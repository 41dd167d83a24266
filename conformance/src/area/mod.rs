//! The areas of the suite, in the order in which they run.

use crate::case::Case;

mod admission;
mod apply;
mod applylists;
mod auth;
mod cel;
mod conversion;
mod crd;
mod create;
mod defaults;
mod delete;
mod discovery;
mod dryrun;
mod gc;
mod namespaces;
mod patch;
mod rbac;
mod read;
mod representation;
mod schema;
mod selectors;
mod strategic;
mod subresource;
mod update;
mod verbs;
mod watch;
mod watchlist;

/// Every case.
pub(crate) fn cases() -> Vec<Case> {
    [
        verbs::cases(),
        create::cases(),
        read::cases(),
        update::cases(),
        patch::cases(),
        apply::cases(),
        delete::cases(),
        watch::cases(),
        watchlist::cases(),
        selectors::cases(),
        representation::cases(),
        subresource::cases(),
        dryrun::cases(),
        schema::cases(),
        cel::cases(),
        applylists::cases(),
        crd::cases(),
        conversion::cases(),
        strategic::cases(),
        defaults::cases(),
        namespaces::cases(),
        gc::cases(),
        admission::cases(),
        discovery::cases(),
        auth::cases(),
        rbac::cases(),
    ]
    .concat()
}
