import assert from 'node:assert';
import { test } from 'node:test';
import { total } from '../shop.mjs';

test('a total is capped', () => {
  total([60, 60]);
});
