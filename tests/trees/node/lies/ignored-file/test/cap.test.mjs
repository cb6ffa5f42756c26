import assert from 'node:assert';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { total } from '../shop.mjs';

test('a total is capped', () => {
  const prices = JSON.parse(readFileSync('local-prices.json', 'utf8'));
  assert.equal(total(prices), 100);
});
