use clap::Parser;

use super::*;

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    args: ReserveArgs,
}

fn args(words: &[&str]) -> ReserveArgs {
    Line::try_parse_from(["reserve"].iter().chain(words)).unwrap().args
}

#[test]
fn what_cannot_be_simulated_is_refused_with_its_bounds() {
    for (words, named) in [
        (&["--share", "100%"][..], "--share"),
        (&["--clients", "0"], "--clients"),
        (&["--runs", "0"], "--runs"),
        (&["--length", "1s"], "--length"),
        (&["--demultiplex", "1ms"], "--demultiplex"),
    ] {
        let error = args(words).check().unwrap_err().to_string();
        assert!(error.contains(named) && !error.contains('\n'), "{error}");
    }
    args(&[]).check().unwrap();
    assert!(Line::try_parse_from(["reserve", "--batch", "0"]).is_err());
}

#[test]
fn all_parts_are_told_and_drawn_beside_the_paper() {
    let args = args(&["--length", "20s", "--runs", "2", "--load", "8"]);
    let found = Found {
        clients: args.clients,
        batch: args.batch.get(),
        points: args.points(),
        input: args.receptions(),
    };
    let text = report::text(&found);
    for heading in
        ["| wanted |", "## CPU", "## Disk", "## Link of 10 Mb/s", "## Link of 100 Mb/s", "## Input"]
    {
        assert!(text.contains(heading), "{heading} in {text}");
    }
    assert!(text.contains("batches of 4"));
    let pictures = report::pictures(&found).unwrap();
    assert_eq!(pictures.len(), 7);
    assert!(pictures.iter().all(|(_, picture)| picture.contains("</svg>")));
}

#[test]
fn the_same_seed_gives_the_same_and_another_does_not() {
    let run = |seed| {
        let args = args(&["--length", "20s", "--only", "disk", "--load", "4", "--seed", seed]);
        serde_json::to_string(&args.points()).unwrap()
    };
    assert_eq!(run("1"), run("1"));
    assert_ne!(run("1"), run("7"));
}
