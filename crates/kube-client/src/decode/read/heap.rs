//! Makes the heap of a thread grow in large steps while many objects are decoded.
//!
//! glibc gives each thread a heap, and grows it by as many pages as the next allocation needs: mostly one page for each system call
//! (`mprotect`), during which no other thread can touch a new page. Objects are many small allocations: `perf stat` counted 250 000 of
//! these calls for 20 000 Pods. Memory that is allocated in one piece and freed again stays at the end of the heap, untouched, and the next
//! objects are put there: 6 000 to 12 000 calls, and a seventh less CPU time. The process needs no more memory for it, since only pages
//! that are touched count.

/// How much text is decoded between two steps.
const TEXT: usize = 128 << 10;
/// The size of a step: objects need several times the memory of their text.
const STEP: usize = 2 << 20;

/// Reserves heap for the objects that a thread decodes, by the amount of their text.
#[derive(Clone, Debug, Default)]
pub(in crate::decode) struct HeapReserve {
    text: usize,
}

impl HeapReserve {
    /// Call it before a text of this many bytes is decoded. The first step is made only after much text, because small responses need none.
    pub(in crate::decode) fn reserve_for(&mut self, text: usize) {
        self.text += text;
        if self.text >= TEXT {
            self.text = 0;
            grow();
        }
    }
}

/// Other allocators have no such costs.
fn grow() {
    if cfg!(all(target_os = "linux", target_env = "gnu")) {
        // The compiler would remove an allocation that is not used.
        drop(std::hint::black_box(Vec::<u8>::with_capacity(STEP)));
    }
}

#[cfg(test)]
mod tests {
    use allocation_counter::measure;

    use super::*;

    #[test]
    fn a_step_is_made_after_much_text_and_keeps_no_memory() {
        let mut heap = HeapReserve::default();
        for _ in 0..3 {
            let little = measure(|| (1..TEXT).for_each(|_| heap.reserve_for(1)));
            assert_eq!(little.count_total, 0);
            let step = measure(|| heap.reserve_for(1));
            assert_eq!(step.count_total, u64::from(cfg!(all(target_os = "linux", target_env = "gnu"))));
            assert_eq!(step.count_current, 0);
        }
    }
}
