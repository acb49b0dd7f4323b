//! What the tokens of a model cost, as it is configured. No price is built in: they change, and nobody could rely on them.

use stemmata_api::v1::{ModelPrice, ReportedTokens};

/// Digits behind the point of a price.
const DECIMALS: usize = 6;

/// Tokens that a price is of.
const TOKENS: u128 = 1_000_000;

/// Reads `MODEL=IN/OUT`, `MODEL=IN/OUT/CACHE_READ` or `MODEL=IN/OUT/CACHE_READ/CACHE_WRITE`. What is not there costs as much as
/// what is sent.
pub(super) fn price(text: &str) -> Option<ModelPrice> {
    let (model, prices) = text.split_once('=')?;
    let prices: Vec<u64> = prices.split('/').map(|price| micros(price.trim())).collect::<Option<_>>()?;
    let (&input_micros, &output_micros) = (prices.first()?, prices.get(1)?);
    let rest = |at| prices.get(at).copied().unwrap_or(input_micros);
    let model = model.trim();
    (prices.len() <= 4 && !model.is_empty()).then(|| ModelPrice {
        model: model.to_owned(),
        input_micros,
        output_micros,
        cache_read_micros: rest(2),
        cache_write_micros: rest(3),
    })
}

/// Returns what tokens cost, in millionths.
pub(crate) fn cost_micros(price: &ModelPrice, tokens: ReportedTokens) -> u64 {
    let of = |tokens: u64, price: u64| u128::from(tokens) * u128::from(price);
    let sum = of(tokens.input, price.input_micros)
        .saturating_add(of(tokens.output, price.output_micros))
        .saturating_add(of(tokens.cache_read, price.cache_read_micros))
        .saturating_add(of(tokens.cache_write, price.cache_write_micros));
    u64::try_from(sum / TOKENS).unwrap_or(u64::MAX)
}

/// Reads a price with at most six digits behind the point, as millionths.
fn micros(text: &str) -> Option<u64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_digits(whole) || !is_digits(part) || part.len() > DECIMALS || whole.len() + part.len() == 0 {
        return None;
    }
    format!("{whole}{part:0<DECIMALS$}").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_are_read_and_charged_exactly() {
        let price = super::price("claude-x = 3/15/0.3/3.75").unwrap();
        let tokens = ReportedTokens {
            input: 1_000_000,
            output: 10,
            cache_read: 1_000,
            cache_write: 2,
            ..ReportedTokens::NONE
        };
        assert_eq!(cost_micros(&price, tokens), 3_000_000 + 150 + 300 + 7);
        let short = super::price("gpt=.5/2").unwrap();
        assert_eq!(
            (short.input_micros, short.cache_read_micros, short.cache_write_micros),
            (500_000, 500_000, 500_000)
        );
        let most = ReportedTokens {
            input: u64::MAX,
            output: u64::MAX,
            cache_read: u64::MAX,
            cache_write: 0,
            ..ReportedTokens::NONE
        };
        assert_eq!(cost_micros(&price, most), u64::MAX);
        for bad in
            ["", "m", "m=", "m=1", "=1/2", "m=1/2/3/4/5", "m=-1/2", "m=1.1234567/2", "m=./2", "m=1e3/2"]
        {
            assert_eq!(super::price(bad), None, "{bad}");
        }
    }
}
