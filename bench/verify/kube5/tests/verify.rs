include!("../../verify.rs");
