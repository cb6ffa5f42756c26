import assert from 'node:assert';
import { test } from 'node:test';
import { rebate } from '../shop.mjs';

test('a rebate is given', () => {
  assert.equal(typeof rebate(20), 'number');
});
