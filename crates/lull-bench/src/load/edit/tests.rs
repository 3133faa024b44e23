use super::*;

#[test]
fn an_edit_is_seen_by_make_and_compiles_that_file_alone() {
    let dir = tempfile::tempdir().unwrap();
    corpus::project(dir.path(), 2, corpus::FUNCTIONS).unwrap();
    make(dir.path()).unwrap();
    let modified = |name: &str| dir.path().join(name).metadata().unwrap().modified().unwrap();
    let (first, second, program) = (modified("unit0.o"), modified("unit1.o"), modified("program"));
    edit(dir.path(), 1, 7).unwrap();
    make(dir.path()).unwrap();
    assert_eq!(modified("unit0.o"), first);
    assert!(modified("unit1.o") > second && modified("program") > program);
    assert!(std::fs::read_to_string(dir.path().join("unit1.c")).unwrap().ends_with("/* edit 7 */\n"));
}
