use blitz_io_sync::thread::SpinWait;

#[test]
fn a_wait_ends_and_can_begin_again() {
    let mut wait = SpinWait::new();
    for _ in 0..2 {
        while wait.spin() {}
        wait.reset();
    }
}

#[test]
fn pauses_after_lost_races_do_not_use_up_the_wait() {
    let mut wait = SpinWait::default();
    for _ in 0..20 {
        wait.spin_no_yield();
    }
    while wait.spin() {}
}
