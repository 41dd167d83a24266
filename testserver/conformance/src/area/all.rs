//! The cases of all areas.

use super::{
    admission, apply, applylists, auth, autoscalers, cel, columns, conversion, cost, crd, create, defaults,
    delete, discovery, dryrun, encoding, events, fields, finalizers, gc, identity, immutable, limitrange,
    namespaces, patch, pods, policies, priority, quota, ratchet, rbac, read, recorded, representation,
    reviews, scale, scale_apply, schema, selectors, storageclass, strategic, subresource, unchecked, update,
    verbs, versions, watch, watchlist,
};
use crate::case::Case;

/// All cases, in running order.
#[rustfmt::skip] // several areas a line
pub(crate) fn cases() -> Vec<Case> {
    [
        verbs::cases(), create::cases(), read::cases(), update::cases(), immutable::cases(), patch::cases(),
        identity::cases(), apply::cases(), delete::cases(), watch::cases(), watchlist::cases(),
        selectors::cases(), fields::cases(), representation::cases(), encoding::cases(), columns::cases(),
        subresource::cases(), scale::cases(), scale_apply::cases(), pods::cases(), dryrun::cases(), schema::cases(), cel::cases(),
        cost::cases(), ratchet::cases(), applylists::cases(), crd::cases(), recorded::cases(),
        conversion::cases(), versions::cases(), strategic::cases(), defaults::cases(), events::cases(),
        autoscalers::cases(), namespaces::cases(), gc::cases(), finalizers::cases(), admission::cases(),
        reviews::cases(), priority::cases(), storageclass::cases(), limitrange::cases(), quota::cases(),
        policies::cases(), discovery::cases(), auth::cases(), rbac::cases(), unchecked::cases(),
    ]
    .concat()
}
