//! The compile errors of the macros.

#[test]
fn invalid_input_gives_the_expected_compile_errors() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
