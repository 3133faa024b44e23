//! Tables in the two languages of reports.

/// A table in markdown.
pub fn markdown_table(header: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut text = format!("| {} |\n|{}\n", header.join(" | "), "---|".repeat(header.len()));
    text.extend(rows.into_iter().map(|row| format!("| {} |\n", row.join(" | "))));
    text
}

/// Words that may stand in a cell of it.
pub fn markdown_words(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

/// A table of a page, whose cells are escaped; `attributes` are those of the table.
pub fn html_table(attributes: &str, header: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let line = |tag: &str, cells: String| format!("<tr><{tag}>{cells}</tr>");
    let mut text = line("th", header.join("<th>"));
    text.extend(rows.into_iter().map(|row| line("td", row.join("<td>"))));
    format!("<div class=scroll><table{attributes}>{text}</table></div>")
}

/// Text of a page.
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
