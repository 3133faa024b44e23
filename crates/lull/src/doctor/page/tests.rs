use super::*;

#[test]
fn long_texts_hang_beside_their_label_within_the_width() {
    let mut page = Page::new(false);
    page.section("Title");
    page.line("label", Tone::Good, &"word ".repeat(60));
    let text = page.finish();
    assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("Title"));
    assert!(lines.next().unwrap().starts_with("  label                     word"));
    assert!(lines.next().unwrap().starts_with("                            word"));
    assert_eq!(text.matches("word").count(), 60);
}

#[test]
fn a_long_label_and_a_long_word_are_kept_whole() {
    let mut page = Page::new(false);
    page.line("a label that is longer than its column", Tone::Plain, "text");
    page.line("x", Tone::Plain, &"y".repeat(150));
    let text = page.finish();
    assert!(text.contains("column text"), "{text}");
    assert!(text.contains(&"y".repeat(150)));
}

#[test]
fn colour_only_where_asked_for_and_only_up_to_the_colon() {
    let mut page = Page::new(true);
    page.line("x", Tone::Bad, "refused: because");
    assert!(page.finish().ends_with("\x1b[31mrefused\x1b[0m: because\n"));
    let mut page = Page::new(false);
    page.section("Title");
    page.line("x", Tone::Bad, "refused: because");
    page.command("do it");
    assert!(!page.finish().contains('\x1b'));
}

#[test]
fn sections_are_set_apart_and_commands_stay_on_one_line() {
    let mut page = Page::new(false);
    page.section("One");
    page.command(&"long command ".repeat(12));
    page.section("Two");
    let text = page.finish();
    assert_eq!(text.lines().count(), 4);
    assert!(text.contains("\n\nTwo\n"));
}

#[test]
fn items_hang_beside_their_mark() {
    let mut page = Page::new(false);
    page.item(&"word ".repeat(30));
    let text = page.finish();
    let starts: Vec<_> = text.lines().map(|line| &line[..5]).collect();
    assert_eq!(starts, ["  - w", "    w"]);
}
