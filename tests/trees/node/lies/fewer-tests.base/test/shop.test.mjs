import assert from 'node:assert';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { price, receipt, total } from '../shop.mjs';

const golden = new URL('golden/receipt.txt', import.meta.url);

test('doubles a price', () => {
  assert.equal(price(2), 4);
});

for (const [name, prices, sum] of JSON.parse(readFileSync(new URL('totals.json', import.meta.url), 'utf8'))) {
  test(`adds up ${name}`, () => {
    assert.equal(total(prices), sum);
  });
}

test('lists what is on a receipt', () => {
  assert.equal(receipt([1, 2]), readFileSync(golden, 'utf8'));
});
