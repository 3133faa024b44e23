use super::*;

fn text(class: &Class) -> String {
    let mut page = Page::new(false);
    class.write(&mut page);
    page.finish()
}

#[test]
fn the_line_says_against_whom_it_counts_and_why_not_against_all() {
    let shares = |foreground_ns, job_ns| Some(Shares { foreground_ns, job_ns });
    let mut class = Class { inside: None, shares: shares(99, 1), why: None };
    assert!(class.is_in_force() && text(&class).contains("yes: of one CPU"), "{}", text(&class));
    class.inside = Some("user.slice/user-1000.slice".to_owned());
    class.why = Some("a limit would be left".to_owned());
    assert!(!class.is_in_force());
    for part in ["inside user.slice/user-1000.slice only", "a limit would be left"] {
        assert!(text(&class).replace(['\n', ' '], "").contains(&part.replace(' ', "")), "{}", text(&class));
    }
    class.shares = shares(52, 48);
    assert!(!class.is_in_force() && text(&class).contains("NO, inside user.slice"), "{}", text(&class));
    class.shares = None;
    class.why = Some("not known: no CPU".to_owned());
    assert!(text(&class).contains("not known: no CPU"), "{}", text(&class));
}

#[test]
fn root_the_experiment_leaves_nothing() {
    let facts = Facts::probe();
    let class = Class::find(&facts, &Plan::for_facts(&facts), None, None);
    let hierarchy = facts.cgroups.v1_of("cpu").or(facts.cgroups.v2.as_ref());
    let Some(place) = hierarchy.and_then(|hierarchy| hierarchy.place()) else {
        println!("SKIPPED: no control groups here");
        return;
    };
    let prefix = format!("lull-{}-", std::process::id());
    let left = std::fs::read_dir(place).unwrap().flatten();
    let mine = left.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mine: Vec<_> = mine.filter(|name| name.starts_with(&prefix)).collect();
    assert!(mine.is_empty(), "{mine:?}: {class:?}");
}
