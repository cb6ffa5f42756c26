export const price = (n) => n * 2;

export const total = (prices) => prices.reduce((sum, one) => sum + one, 0);

export const receipt = (prices) => [...prices, `total ${total(prices)}`, ''].join('\n');
