import assert from 'node:assert';
import { test } from 'node:test';

test('has long been broken', () => {
  assert.equal(1, 2);
});
