use super::*;

#[test]
fn texts_are_read_and_wrong_ones_told() {
    let ms = Nanos::from_millis;
    for (text, span) in [
        ("20ms", Span::Fixed(ms(20))),
        ("10ms..30ms", Span::Between(ms(10), ms(30))),
        ("exponential 20ms", Span::Exponential(ms(20))),
        ("pareto 2ms 1.5", Span::Pareto { least: ms(2), tail: 1.5 }),
    ] {
        assert_eq!(text.parse(), Ok(span));
        assert_eq!(span.to_string().parse(), Ok(span));
    }
    for text in ["", "20", "3ms..1ms", "exponential", "pareto 2ms 0.5", "pareto 2ms inf", "gaussian 2ms"] {
        let error = text.parse::<Span>().unwrap_err().to_string();
        assert!(error.contains(text) && error.contains("write 20ms"), "{error}");
    }
}

#[test]
fn draws_have_the_mean_that_the_span_says_and_repeat_with_the_seed() {
    for text in ["20ms", "10ms..30ms", "exponential 20ms", "pareto 2ms 3"] {
        let span: Span = text.parse().unwrap();
        let draw = |seed| {
            let mut random = Random::new(seed, 1);
            (0..100_000).map(|_| random.draw(span).0 as f64).sum::<f64>() / 1e5
        };
        assert!((draw(1) / span.mean_ns() - 1.0).abs() < 0.02, "{text}");
        assert!(draw(7).to_bits() == draw(7).to_bits());
    }
    assert_ne!(Random::new(1, 1).below(u64::MAX), Random::new(1, 2).below(u64::MAX));
}
