use super::*;

#[test]
fn codes_stand_for_growing_counts_and_small_ones_are_exact() {
    for code in 0..GAP_MASK {
        assert_eq!(encode(decode(code)), code);
        assert_eq!(decode(code + 1) - decode(code), 1 << step_bits(code), "{code}");
    }
    assert!((0..=8).all(|uses| decode(encode(uses)) == uses));
    const { assert!(LONGEST_GAP > TICK_MASK, "every gap has a code") };
}

#[test]
fn counts_come_out_right_whatever_the_pattern_of_uses() {
    for stride in [1, 2, 3, 7, 64, 100, 485, 1000, 4096] {
        for uses in [8_u32, 20, 40, 60] {
            for uses_to_a_tick in [1, 3, u32::MAX] {
                let usage = Usage::once(0);
                (1..uses).for_each(|use_| {
                    usage.record(use_ / uses_to_a_tick, u64::from(use_ * stride));
                });
                let counted = usage.at(0).count;
                let share = f64::from(counted) / f64::from(uses);
                assert!((0.5..=1.7).contains(&share), "{uses}, one in {stride}: {counted}");
            }
        }
    }
}

#[test]
fn a_full_count_is_not_written() {
    let usage = Usage::once(5);
    (0..100_000).for_each(|turn| usage.record(5, turn));
    assert_eq!(usage.at(5), Uses { count: MOST_USES, idle: 0, gaps: [0, 0] });
    let word = usage.word();
    usage.record(5, 0);
    assert_eq!(usage.word(), word);
    usage.record(6, 0);
    assert_eq!(usage.at(6), Uses { count: MOST_USES, idle: 0, gaps: [1, 0] });
}

#[test]
fn a_count_is_written_seldom() {
    let usage = Usage::once(5);
    let mut writes = 0;
    for turn in 0..4096 {
        let before = usage.word();
        usage.record(5, turn);
        writes += u32::from(usage.word() != before);
    }
    assert!(writes <= LAST_CODE, "{writes} writes");
}

#[test]
fn the_last_two_gaps_are_known() {
    let usage = Usage::once(0);
    let mut gaps = Vec::new();
    for tick in [0, 1, 9, 9, 11] {
        usage.record(tick, 0);
        gaps.push(usage.at(tick).gaps);
    }
    assert_eq!(gaps, [[0, 0], [1, 0], [8, 1], [8, 1], [2, 8]]);
    assert_eq!(usage.at(20).idle, 9);
}

#[test]
fn an_entry_that_comes_back_goes_on_from_where_it_was() {
    let usage = Usage::once(3);
    (0..6).for_each(|_| usage.record(3, 0));
    let again = Usage::again(usage.word(), 5);
    assert_eq!(again.at(6), Uses { count: 8, idle: 1, gaps: [2, 0] });
}

#[test]
fn ticks_wrap_around() {
    let usage = Usage::once(u32::MAX);
    assert_eq!(usage.at(u32::MAX.wrapping_add(2)).idle, 2);
}
