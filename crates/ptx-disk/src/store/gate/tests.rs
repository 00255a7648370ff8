use super::*;

const PAUSE: Duration = Duration::from_secs(1);

#[test]
fn failures_in_a_row_close_it_and_one_success_opens_it() {
    let (gate, start) = (Gate::new(2, PAUSE), Instant::now());
    assert!(!gate.failed(start));
    assert!(!gate.failed(start));
    gate.succeeded();
    assert!(!gate.failed(start) && !gate.failed(start), "a success starts the count again");
    assert!(gate.permits(|| start));
    assert!(gate.failed(start), "the one that closes it says so");
    assert!(!gate.permits(|| start));
    gate.succeeded();
    assert!(gate.permits(|| start));
}

#[test]
fn the_pause_doubles_up_to_its_longest() {
    let (gate, mut now) = (Gate::new(0, PAUSE), Instant::now());
    assert!(gate.failed(now));
    for doubled in [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300] {
        let pause = Duration::from_secs(doubled);
        assert!(!gate.permits(|| now + pause.mul_f64(0.999)));
        now += pause;
        assert!(gate.permits(|| now));
        assert!(!gate.failed(now), "it was closed before");
    }
}

#[test]
fn after_a_pause_one_tries_and_the_others_wait() {
    let (gate, start) = (Gate::new(0, PAUSE), Instant::now());
    gate.failed(start);
    assert!(gate.permits(|| start + PAUSE));
    assert!(!gate.permits(|| start + PAUSE));
    assert!(gate.permits(|| start + PAUSE * 2), "one that never came back is replaced");
}

#[test]
fn a_healthy_gate_does_not_look_at_the_clock() {
    let gate = Gate::new(0, PAUSE);
    assert!(gate.permits(|| unreachable!()));
}
