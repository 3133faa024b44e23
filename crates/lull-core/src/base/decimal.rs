//! Numbers with units, as sizes and times are written: `8.2GB`, `1.5s`.

/// The number with which a text begins, and the unit after it, without the spaces around both.
pub(crate) fn split(text: &str) -> (&str, &str) {
    let body = text.trim();
    let split = body.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(body.len());
    let (number, unit) = body.split_at(split);
    (number, unit.trim())
}

/// `number` times `scale`, rounded down; what is wrong with it, if it is no plain decimal or does not fit.
pub(crate) fn scaled(number: &str, scale: u64) -> Result<u64, &'static str> {
    const TOO_LARGE: &str = "it is too large";
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if fraction.contains('.') || fraction.len() > 9 || (whole.is_empty() && fraction.is_empty()) {
        return Err("the number is not a plain decimal");
    }
    let parse = |digits: &str| if digits.is_empty() { Ok(0) } else { digits.parse::<u64>() };
    let whole = parse(whole).ok().and_then(|whole| whole.checked_mul(scale)).ok_or(TOO_LARGE)?;
    // At most nine digits: the power fits, and so does the part, which is less than `scale`.
    let digits = u32::try_from(fraction.len()).map_err(|_| TOO_LARGE)?;
    let part = u128::from(parse(fraction).map_err(|_| TOO_LARGE)?) * u128::from(scale) / 10_u128.pow(digits);
    let part = u64::try_from(part).map_err(|_| TOO_LARGE)?;
    whole.checked_add(part).ok_or(TOO_LARGE)
}
