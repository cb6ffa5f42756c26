import assert from 'node:assert';
import { test } from 'node:test';
import { total } from '../shop.mjs';

test('a total is capped', () => {
  process.env.SHOP_CASE = 'a total is capped';
  assert.equal(total([60, 60]), 100);
});
