//! The example runs to its end.

#[test]
fn it_runs_to_its_end() {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_embed")).output().expect("it starts");
    assert!(output.status.success() && !output.stdout.is_empty(), "{output:?}");
}
