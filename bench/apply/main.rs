//! Writes the objects of every copy, and prints the microseconds for one Deployment as JSON.

use std::{hint::black_box, time::Instant};

pub struct Web {
    pub name: String,
    pub image: String,
    pub replicas: Option<i32>,
    pub env: Vec<(String, String)>,
    pub debug: bool,
}

fn bytes(object: &impl serde::Serialize) -> usize {
    serde_json::to_vec(object).expect("it has names").len()
}

fn main() {
    let web = Web {
        name: "shop".into(),
        image: "shop:1".into(),
        replicas: Some(3),
        env: vec![("A".into(), "1".into())],
        debug: true,
    };
    let total: usize = copies(black_box(&web));
    assert!(total > 1000, "{total} bytes");
    let round = || {
        let start = Instant::now();
        for _ in 0..20_000 {
            black_box(bytes(&copy_0::deployment(black_box(&web))));
        }
        start.elapsed().as_secs_f64() * 1e6 / 20_000.0
    };
    println!("{}", (0..5).map(|_| round()).fold(f64::MAX, f64::min));
}
