//! Types of the Kubernetes API that have another form in programs, and numbers that fit.

use std::borrow::Cow;

use k8s_openapi::{
    ByteString,
    apiextensions_apiserver::pkg::apis::apiextensions::v1::JSON,
    apimachinery::pkg::{
        api::resource::Quantity,
        apis::meta::v1::{MicroTime, Time},
        runtime::RawExtension,
        util::intstr::IntOrString,
    },
    jiff::Timestamp,
};
use serde_json::Value;

use super::accept::{Accept, Own, Taken};

/// The marker of these conversions.
pub enum Converted {}

macro_rules! convert {
    ($($from:ty => $to:ty: $value:ident => $made:expr;)*) => {
        $(
            #[diagnostic::do_not_recommend]
            impl Accept<$to, Converted> for $from {
                fn take(self) -> Taken<$to> {
                    let $value = self;
                    Accept::<$to, Own>::take($made)
                }
            }
        )*
    };
}

convert! {
    &str => Quantity: text => Quantity(text.to_owned());
    String => Quantity: text => Quantity(text);
    &String => Quantity: text => Quantity(text.clone());
    Cow<'_, str> => Quantity: text => Quantity(text.into_owned());
    i32 => IntOrString: number => IntOrString::Int(number);
    u16 => IntOrString: number => IntOrString::Int(number.into());
    &str => IntOrString: text => IntOrString::String(text.to_owned());
    String => IntOrString: text => IntOrString::String(text);
    &String => IntOrString: text => IntOrString::String(text.clone());
    Timestamp => Time: time => Time(time);
    Timestamp => MicroTime: time => MicroTime(time);
    Vec<u8> => ByteString: bytes => ByteString(bytes);
    &[u8] => ByteString: bytes => ByteString(bytes.to_vec());
    Value => JSON: value => JSON(value);
    Value => RawExtension: value => RawExtension(value);
    u16 => i32: number => i32::from(number);
    u16 => i64: number => i64::from(number);
    i32 => i64: number => i64::from(number);
    u32 => i64: number => i64::from(number);
}

#[diagnostic::do_not_recommend]
impl<const N: usize> Accept<ByteString, Converted> for &[u8; N] {
    fn take(self) -> Taken<ByteString> {
        self.as_slice().take()
    }
}
