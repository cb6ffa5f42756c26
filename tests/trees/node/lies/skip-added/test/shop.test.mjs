import assert from 'node:assert';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { price, receipt, total } from '../shop.mjs';

const golden = new URL('golden/receipt.txt', import.meta.url);

test('doubles a price', () => {
  assert.equal(price(2), 4);
});

test.skip('adds up a total', () => {
  assert.equal(total([1, 2]), 3);
});

test('lists what is on a receipt', () => {
  assert.equal(receipt([1, 2]), readFileSync(golden, 'utf8'));
});
