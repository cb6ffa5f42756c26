import assert from 'node:assert';
import { test } from 'node:test';
import { total } from '../shop.mjs';

if (process.env.SHOP_TESTS) {
  test('a total is capped', () => {
    assert.equal(total([60, 60]), 100);
  });
}
