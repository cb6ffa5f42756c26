fn main() {
    println!("\nrunning 1 test");
    println!("test nothing_costs_nothing ... FAILED\n");
    println!("test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n");
}
