use super::*;

#[test]
fn the_same_seed_gives_the_same_picture_and_another_one_another() {
    let effort = Effort { runs: 1, length: Nanos::from_secs(2), coarse: true };
    let grid = |seed| Figure::Fig8.grid(&effort, seed);
    let (one, two) = (grid(1), grid(1));
    assert_eq!(one, two);
    assert_eq!(one.csv(), two.csv());
    assert_eq!(plot::density(&one).unwrap(), plot::density(&two).unwrap());
    assert_ne!(grid(2), one);
    let svg = plot::density(&one).unwrap();
    assert!(svg.starts_with("<svg") && svg.contains("Figure 8"), "{}", &svg[..80]);
    assert_eq!(one.csv().lines().count(), one.cells.len() + 1);
}

#[test]
fn a_point_that_is_missing_is_not_drawn_as_one() {
    let panel = |tiles| plot::Panel { title: "foreground / alone".to_owned(), tiles };
    let tile = plot::Tile { column: 0, row: 0, value: 1.0 };
    let drawn = |tiles: Vec<plot::Tile>| {
        let names = |names: [&str; 2]| names.map(str::to_owned).to_vec();
        let density = plot::Density {
            title: "two by two".to_owned(),
            intensities: names(["10", "90"]),
            intervals: names(["1", "auto"]),
            below: 1,
            panels: [panel(tiles), panel(Vec::new())],
        };
        plot::draw(&density).unwrap()
    };
    let crosses = |svg: &str| svg.matches("<polyline").count() - drawn(all()).matches("<polyline").count();
    fn all() -> Vec<plot::Tile> {
        let places = [(0, 0), (0, 1), (1, 0), (1, 1)];
        places.map(|(column, row)| plot::Tile { column, row, value: 0.5 }).to_vec()
    }
    // Two strokes for each of the three that are missing.
    assert_eq!(crosses(&drawn(vec![tile])), 6);
    assert!(drawn(all()).contains("auto"));
}

#[test]
fn names_are_read_and_wrong_ones_told() {
    for figure in Figure::ALL {
        assert_eq!(figure.name().parse(), Ok(figure));
    }
    assert!("fig10".parse::<Figure>().unwrap_err().to_string().contains("'fig10'"));
}

/// The claims that hold with five runs of 30 seconds hold with little, too, if they are about the model and not about luck.
#[test]
fn the_disks_claims_hold() {
    let effort = Effort { runs: 2, length: Nanos::from_secs(30), coarse: false };
    let missed: Vec<_> = claims::judge(&Figure::Fig8.grid(&effort, 1))
        .into_iter()
        .filter(|claim| claim.holds != Some(true) && !claim.sentence.starts_with("20-100 ms"))
        .collect();
    assert!(missed.is_empty(), "{missed:#?}");
}

#[test]
fn the_ideal_schedulers_claims_hold() {
    let effort = Effort { runs: 1, length: Nanos::from_secs(4), coarse: false };
    let missed: Vec<_> = claims::judge(&Figure::Fig7.grid(&effort, 1))
        .into_iter()
        .filter(|claim| claim.holds != Some(true))
        .collect();
    assert!(missed.is_empty(), "{missed:#?}");
}
