//! The struct that fields are written to.

use k8s_openapi::{
    api::events::v1::EventSeries,
    apimachinery::pkg::apis::meta::v1::{Condition, MicroTime, Time},
    jiff::Timestamp,
};

/// A struct of which no field is written yet. `M` only tells the implementations apart.
#[diagnostic::on_unimplemented(
    message = "the fields of `{Self}` cannot be written one by one, because it does not implement `Default`",
    label = "`{Self}` does not implement `Default`",
    note = "write a whole value of the type instead of braces"
)]
pub trait Blank<M>: Sized {
    /// The struct.
    fn blank() -> Self;
}

/// The marker of types with a default.
pub enum ByDefault {}
/// The marker of the structs of the API without a default, because they have a required time.
pub enum Listed {}

#[diagnostic::do_not_recommend]
impl<T: Default> Blank<ByDefault> for T {
    fn blank() -> Self {
        T::default()
    }
}

#[diagnostic::do_not_recommend]
impl Blank<Listed> for Condition {
    fn blank() -> Self {
        Self {
            last_transition_time: Time(Timestamp::UNIX_EPOCH),
            message: String::new(),
            observed_generation: None,
            reason: String::new(),
            status: String::new(),
            type_: String::new(),
        }
    }
}

#[diagnostic::do_not_recommend]
impl Blank<Listed> for EventSeries {
    fn blank() -> Self {
        Self { count: 0, last_observed_time: MicroTime(Timestamp::UNIX_EPOCH) }
    }
}

// Its fields are required up to Kubernetes 1.35.
k8s_openapi::k8s_if_le_1_35! {
    #[diagnostic::do_not_recommend]
    impl Blank<Listed> for k8s_openapi::api::authentication::v1::TokenRequestStatus {
        fn blank() -> Self {
            Self { expiration_timestamp: Time(Timestamp::UNIX_EPOCH), token: String::new() }
        }
    }
}
